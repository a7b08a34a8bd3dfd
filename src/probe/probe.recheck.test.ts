import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { isFresh, recheck } from './probe.ts'
import type { Verdict } from './report/report.ts'

const NOW = 1_800_000_000_000
const HOUR_MS = 3_600_000

const kept: Verdict = {
  state: 'STATEFUL',
  message: '',
  confidence: 0.99,
  level: 'high',
  decidedBy: 'sequential',
  details: {},
  protocol: { state: 'STATELESS', message: 'No.', confidence: 0.99, level: 'high', decidedBy: 'era', because: ['No.'] },
  process: { state: 'UNKNOWN', message: '', confidence: 0, level: 'low', decidedBy: 'nothing', because: [] },
  target: 'http://127.0.0.1:1/mcp',
  transport: 'http',
  era: 'legacy',
  versions: ['2025-11-25'],
  server: { name: 'x', version: '1.0.0' },
  methods: {},
  evidence: [],
  notAsked: [],
  requests: 8,
  durationMs: 1,
  checkedAt: NOW,
}

test.each([
  ['at once', 0, true],
  ['after an hour', HOUR_MS, true],
  ['after a day', 24 * HOUR_MS, false],
  ['before it was made', -1, false],
])('a verdict %s is fresh: %s', (_, ageMs, expected) => {
  expect(isFresh(kept, { clock: () => NOW + ageMs })).toBe(expected)
})

test('how old it may be can be said, and what could not be decided is never fresh', () => {
  expect(isFresh(kept, { clock: () => NOW + HOUR_MS, maxAgeMs: HOUR_MS })).toBe(false)
  expect(isFresh({ ...kept, state: 'UNKNOWN' }, { clock: () => NOW })).toBe(false)
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'STATELESS'],
  ['another state', { ...kept, state: 'stateless' }],
  ['no state', { ...kept, state: undefined }],
  ['a time in words', { ...kept, checkedAt: String(NOW) }],
  ['no time', { ...kept, checkedAt: undefined }],
])('%s is never fresh', (_, tampered) => {
  expect(isFresh(tampered as Verdict, { clock: () => NOW })).toBe(false)
})

test('what was kept for another target is not taken for this one', async () => {
  const { verdict, isNew, changes } = await recheck(await upgraded(), kept, { clock: () => NOW + 1 })
  expect({ isNew, state: verdict.state, changes }).toEqual({ isNew: true, state: 'STATELESS', changes: [] })
})

test('what was kept by another version, or changed by hand, changes nothing that is told', async () => {
  const target = await upgraded()
  const broken = { target, state: 7, era: null, server: { version: '1\u001b[31m' } } as unknown as Verdict
  const { isNew, changes } = await recheck(target, broken)
  expect(isNew).toBe(true)
  expect(changes).toEqual(['The version was 1\ufffd[31m and is 2.0.0.'])
})

test('a fresh verdict is kept, and nobody is asked', async () => {
  const rechecked = await recheck('http://127.0.0.1:1/mcp', kept, { clock: () => NOW + 1 })
  expect(rechecked).toEqual({ verdict: kept, isNew: false, changes: [] })
})

/** Answers every request without a session, as version 2. */
async function upgraded(): Promise<string> {
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', (chunk) => (body += String(chunk)))
    req.on('end', () => {
      const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string }
      const serverInfo = { name: 'x', version: '2.0.0' }
      const about = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo, tools: [] }
      const result = method === 'server/discover' ? {} : about
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

test('an old one is made anew, and what has changed is told', async () => {
  const clock = () => NOW + 48 * HOUR_MS
  const target = await upgraded()
  const { verdict, isNew, changes } = await recheck(target, { ...kept, target }, { clock })
  expect(isNew).toBe(true)
  expect(verdict).toMatchObject({ state: 'STATELESS', checkedAt: clock() })
  expect(changes).toEqual(['The state was STATEFUL and is STATELESS.', 'The version was 1.0.0 and is 2.0.0.'])
})

test('a server that is away for now has not changed', async () => {
  const { verdict, changes } = await recheck('http://127.0.0.1:1/mcp', kept, { clock: () => NOW + 48 * HOUR_MS })
  expect(verdict.state).toBe('UNKNOWN')
  expect(changes).toEqual([])
})
