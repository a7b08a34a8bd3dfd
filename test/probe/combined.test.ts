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
    expect(plain.asked).toEqual(['server/discover']) // only whether it is of the stateless era
    for (const options of [
      { checks: 'none', order: 'documented' },
      { known: lessKnown, checks: 'none', order: 'documented' },
    ] as const) {
      expect(await probe(plain.url, options)).toMatchObject({ state: 'STATELESS', decidedBy: 'sequential' })
    }
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
