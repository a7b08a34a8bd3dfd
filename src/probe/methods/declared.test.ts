import { expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import { declaredState, readDeclared, contradictions } from './declared.ts'

const info = { name: 'x', version: '1' }

proves('DT-25', 'serverInfo.architecture and serverInfo.transport are read, in either era', () => {
  const serverInfo = { ...info, architecture: 'stateless', transport: ['http', 'stdio'] }
  const declared = { architecture: 'stateless', transport: ['http', 'stdio'] }
  expect(readDeclared({ serverInfo })).toEqual(declared)
  expect(readDeclared({ _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } })).toEqual(declared)
})

proves('DT-27', 'capabilities.session is read', () => {
  const capabilities = { session: { persistent: false, poolable: true, more: 1 } }
  expect(readDeclared({ capabilities, serverInfo: info })).toEqual({ session: { persistent: false, poolable: true } })
})

test('nothing declared is nothing, and what has another shape is left out', () => {
  expect(readDeclared({ serverInfo: info })).toBeUndefined()
  const odd = { serverInfo: { architecture: 7, transport: 'http' }, capabilities: { session: true } }
  expect(readDeclared(odd)).toBeUndefined()
  expect(readDeclared({ capabilities: { session: { persistent: 'yes' } } })).toEqual({ session: {} })
})

test('control characters and long names do not get through', () => {
  const architecture = `state\u001b[31mless${'x'.repeat(100)}`
  expect(readDeclared({ serverInfo: { architecture } })?.architecture).toMatch(/^state\ufffd\[31mlessx+…$/)
})

test.each([
  [{ architecture: 'stateless' }, 'STATELESS'],
  [{ architecture: 'Stateful' }, 'STATEFUL'],
  [{ architecture: 'hybrid' }, 'UNKNOWN'],
  [{ session: { persistent: true } }, 'STATEFUL'],
  [{ session: { persistent: false } }, 'STATELESS'],
  [{ session: { poolable: true } }, 'UNKNOWN'],
  [{ architecture: 'stateless', session: { persistent: false } }, 'STATELESS'],
  [{ architecture: 'stateless', session: { persistent: true } }, 'UNKNOWN'],
  [{}, 'UNKNOWN'],
] as const)('%j comes to %s', (declared, state) => {
  expect(declaredState(declared)).toBe(state)
})

test('each false declaration is reported by itself, and UNKNOWN contradicts none', () => {
  const declared = { architecture: 'stateless', session: { persistent: false }, transport: ['stdio'] }
  expect(contradictions(declared, 'STATEFUL', 'http')).toEqual([
    'It declares serverInfo.architecture "stateless", but it was found to be STATEFUL.',
    'It declares capabilities.session.persistent false, but it was found to be STATEFUL.',
    'It was reached over http, which serverInfo.transport does not name.',
  ])
  expect(contradictions(declared, 'STATELESS', 'stdio')).toEqual([])
  expect(contradictions(declared, 'UNKNOWN', 'stdio')).toEqual([])
})

test.each(['http', 'https', 'streamable-http', 'StreamableHTTP', 'sse'])('"%s" names HTTP', (name) => {
  expect(contradictions({ transport: [name] }, 'UNKNOWN', 'http')).toEqual([])
  expect(contradictions({ transport: [name] }, 'UNKNOWN', 'stdio')).toHaveLength(1)
})
