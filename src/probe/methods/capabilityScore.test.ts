import fc from 'fast-check'
import { expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import { capabilityScore } from './capabilityScore.ts'

const about = (name: string, capabilities: object = {}) => ({ serverInfo: { name, version: '1' }, capabilities })
const logging = { logging: {} }
const changing = { tools: { listChanged: true } }
const watched = { resources: { subscribe: true } }

proves('DT-11', 'each hint in an initialize result moves the score by its tenths', () => {
  const cases: [object, number][] = [
    [about('x'), 0.5],
    [about('x', logging), 0.6],
    [about('x', changing), 0.6],
    [about('x', { tools: { listChanged: false } }), 0.5],
    [about('My HTTP Server'), 0.7],
    [about('REST'), 0.7],
    [about('some-api-http-rest'), 0.7],
    [about('x', watched), 0.3],
    [about('CLI tools'), 0.3],
    [about('localhost-cli'), 0.3],
    [about('local api'), 0.5],
    [about('api', { ...logging, ...changing }), 0.9],
    [about('cli', { ...watched }), 0.1],
    [about('local', { ...logging, ...changing, ...watched }), 0.3],
    [{}, 0.5],
    [{ capabilities: 7, serverInfo: 'x' }, 0.5],
  ]
  for (const [result, score] of cases) {
    expect(capabilityScore({ ...result }).details['score'], JSON.stringify(result)).toBe(score)
  }
})

proves(
  'DT-12',
  'above 0.7 is likely stateless, below 0.3 likely stateful, both medium; 0.3 and 0.7 are unclear, and low',
  () => {
    const cases = [
      [about('api', logging), 'STATELESS', 'medium'],
      [about('api'), 'UNKNOWN', 'low'],
      [about('x', { ...logging, ...changing }), 'UNKNOWN', 'low'],
      [about('x', watched), 'UNKNOWN', 'low'],
      [about('local', watched), 'STATEFUL', 'medium'],
    ] as const
    for (const [result, state, level] of cases) {
      expect(capabilityScore(result), JSON.stringify(result)).toMatchObject({ state, level, accuracy: 0.7 })
    }
  },
)

test('the score names what moved it', () => {
  expect(capabilityScore(about('api', logging)).message).toBe(
    'Its capabilities score 0.8, likely stateless: it logs, its name has http, rest or api.',
  )
})

test('no result of a server makes it throw', () => {
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (result) => void capabilityScore(result)))
})
