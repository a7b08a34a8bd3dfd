/** The three methods and their combination, as `probe` answers for real servers. */
import { probe } from 'pannier/probe'
import { describe, expect } from 'vitest'
import { proves } from '../proves.ts'
import { type Host, json, startHost } from './fixtures/host.ts'
import { about, error, result } from './fixtures/legacyAnswers.ts'
import { startSessionHost } from './fixtures/sessionHost.ts'

type Answer = (id: unknown) => object

const UNKNOWN_METHOD: Answer = (id) => error(id, -32601, 'Method not found')
const outOfPaper: Answer = (id) => error(id, -32000, 'Out of paper')
// The score of the document: 0.5, and 0.1 each for logging and listChanged, 0.2 for the name.
const LIKELY_STATELESS = about('http-api', { logging: {}, tools: { listChanged: true } })
const UNCLEAR = about('odd', {})

/** A server of the older era that answers `initialize` and then the bare list as told. */
function server(initialize: Answer, bareList: Answer = UNKNOWN_METHOD): Promise<Host> {
  return startHost(({ message }, res) => {
    const { id, method } = message
    if (method === 'initialize') return json(res, initialize(id))
    return json(res, method === 'tools/list' ? bareList(id) : UNKNOWN_METHOD(id))
  })
}

const alone = { methods: ['sequential'], checks: 'none' } as const

describe('method 1', () => {
  proves(
    'DT-2',
    'a server that answers initialize with an error is UNKNOWN, and is not asked for its tools',
    async () => {
      const host = await server(
        (id) => error(id, -32603, 'session initialization failed'),
        (id) => result(id, { tools: [] }),
      )
      expect(await probe(host.url, alone)).toMatchObject({ state: 'UNKNOWN' })
      expect(host.asked).not.toContain('tools/list')
    },
  )

  proves('DT-5', 'a server whose bare list is another error is UNKNOWN, and its words are told', async () => {
    const host = await server((id) => result(id, UNCLEAR), outOfPaper)
    const verdict = await probe(host.url, alone)
    expect(verdict).toMatchObject({ state: 'UNKNOWN', decidedBy: 'nothing' })
    expect(verdict.message).toContain('Out of paper')
  })

  proves('DT-7', 'a server whose bare list is anything else is UNKNOWN', async () => {
    for (const other of [{}, { tools: 'none' }, { tools: { length: 2 } }]) {
      const host = await server(
        (id) => result(id, UNCLEAR),
        (id) => result(id, other),
      )
      expect(await probe(host.url, alone), JSON.stringify(other)).toMatchObject({ state: 'UNKNOWN' })
    }
  })
})

proves('DT-13', 'a score is told and decides nothing where it is the only method', async () => {
  const host = await server((id) => result(id, LIKELY_STATELESS))
  const verdict = await probe(host.url, { methods: ['capabilities'], checks: 'none' })
  expect(verdict).toMatchObject({ state: 'UNKNOWN', decidedBy: 'nothing' })
  expect(verdict.message).toMatch(/The score is never used alone\.$/)
})

const known = [{ match: '127.0.0.1', state: 'STATEFUL', confidence: 0.95 }] as const
const lessKnown = [{ match: '127.0.0.1', state: 'STATEFUL', confidence: 0.9 }] as const
const tools: Answer = (id) => result(id, { tools: [{ name: 'a', inputSchema: { type: 'object' } }] })

describe('combined', () => {
  proves('DT-16', 'metadata above 0.9 decide, else the sequential test, else the score', async () => {
    const plain = await server((id) => result(id, UNCLEAR), tools)
    expect(await probe(plain.url, { known, checks: 'none', order: 'documented' })).toMatchObject({
      state: 'STATEFUL',
      decidedBy: 'metadata',
    })
    expect(plain.asked).toEqual([]) // as in the document, a known server is not asked anything
    for (const options of [
      { checks: 'none', order: 'documented' },
      { known: lessKnown, checks: 'none', order: 'documented' },
    ] as const) {
      expect(await probe(plain.url, options)).toMatchObject({ state: 'STATELESS', decidedBy: 'sequential' })
    }
    expect(plain.asked).toEqual(['initialize', 'tools/list', 'initialize', 'tools/list'])
    const sessions = await startSessionHost()
    expect(await probe(sessions.url, { checks: 'none', order: 'documented' })).toMatchObject({
      state: 'STATEFUL',
      decidedBy: 'sequential',
    })
    const scored = await server((id) => result(id, LIKELY_STATELESS), outOfPaper)
    expect(await probe(scored.url, { checks: 'none', order: 'documented' })).toMatchObject({
      state: 'STATELESS',
      decidedBy: 'capabilities',
    })
  })

  proves(
    'DT-17',
    'cheap first, a score that agrees decides without a test, and a known server without a request',
    async () => {
      const scored = await server((id) => result(id, LIKELY_STATELESS), tools)
      const cheap = { order: 'cheap-first', checks: 'none' } as const
      expect(await probe(scored.url, { ...cheap, known })).toMatchObject({ decidedBy: 'metadata' })
      expect(scored.asked).toEqual([])
      expect(await probe(scored.url, cheap)).toMatchObject({ state: 'STATELESS', decidedBy: 'capabilities' })
      expect(scored.asked).not.toContain('tools/list')
      const unclear = await server((id) => result(id, UNCLEAR), tools)
      expect(await probe(unclear.url, cheap)).toMatchObject({ state: 'STATELESS', decidedBy: 'sequential' })
      expect(unclear.asked.at(-1)).toBe('tools/list')
    },
  )
})

proves('DT-14 DT-15', 'a configuration without a hint is UNKNOWN, which is low', async () => {
  const target = { command: 'docker', args: ['run', 'odd'], container: { image: 'odd' } }
  const { state, requests, methods } = await probe(target, { methods: ['metadata'] })
  expect({ state, requests }).toEqual({ state: 'UNKNOWN', requests: 0 })
  expect(methods.metadata).toMatchObject({ state: 'UNKNOWN', confidence: 0, level: 'low' })
})

describe('each method, by what a server answers', () => {
  for (const message of [
    "method 'tools/list' is invalid during session initialization",
    'Bad Request: SESSION required',
    'Server Not Initialized',
    'Initialization is missing',
  ]) {
    proves('DT-4', `a bare list that is refused with "${message}" gives STATEFUL`, async () => {
      const host = await server(
        (id) => result(id, UNCLEAR),
        (id) => error(id, -32000, message),
      )
      const verdict = await probe(host.url, alone)
      expect(verdict).toMatchObject({ state: 'STATEFUL', decidedBy: 'sequential', details: { error: message } })
    })
  }

  for (const toolCount of [0, 1, 3]) {
    proves('DT-6', `a bare list of ${toolCount} tools gives STATELESS, with their count`, async () => {
      const listed = Array.from({ length: toolCount }, (_, at) => ({ name: `t${at}`, inputSchema: { type: 'object' } }))
      const host = await server(
        (id) => result(id, UNCLEAR),
        (id) => result(id, { tools: listed }),
      )
      expect(await probe(host.url, alone)).toMatchObject({ state: 'STATELESS', details: { toolCount } })
    })
  }

  for (const [name, capabilities, score, state, level] of [
    ['odd', {}, 0.5, 'UNKNOWN', 'low'],
    ['odd', { logging: {} }, 0.6, 'UNKNOWN', 'low'],
    ['odd', { logging: {}, tools: { listChanged: true } }, 0.7, 'UNKNOWN', 'low'],
    ['REST', { logging: {} }, 0.8, 'STATELESS', 'medium'],
    ['http-api', { logging: {}, tools: { listChanged: true } }, 0.9, 'STATELESS', 'medium'],
    ['odd', { resources: { subscribe: true } }, 0.3, 'UNKNOWN', 'low'],
    ['My CLI', { resources: { subscribe: true } }, 0.1, 'STATEFUL', 'medium'],
    ['local', { logging: {}, resources: { subscribe: true } }, 0.2, 'STATEFUL', 'medium'],
  ] as const) {
    proves('DT-11 DT-12', `"${name}" with ${JSON.stringify(capabilities)} scores ${score}`, async () => {
      const host = await server((id) => result(id, about(name, capabilities)), outOfPaper)
      const { state: decided, methods } = await probe(host.url, { order: 'documented', checks: 'none' })
      expect(methods.capabilities).toMatchObject({ state, level, details: { score } })
      expect(decided).toBe(state)
    })
  }
})
