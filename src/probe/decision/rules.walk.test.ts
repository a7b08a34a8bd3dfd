/** For any replies, each step is taken at most once, the rules end with a decision, and it is the same every time. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readEra } from '../methods/era.ts'
import type { Findings, Step } from './findings.ts'
import type { ProbeReply } from '../wire/reply.ts'
import { guessFromMetadata } from '../methods/metadata.ts'
import type { StreamReply } from '../wire/sse.ts'
import { type Method, METHODS } from '../methods/result.ts'
import { nextStep, type Order } from './rules.ts'

const facts = fc.record({
  status: fc.constantFrom(200, 202, 301, 400, 401, 403, 404, 405, 406, 429, 500, 503),
  session: fc.constantFrom(undefined, 'session-id'),
  challenge: fc.boolean(),
})
const words = fc.constantFrom('', 'no session', 'Server not initialized', 'Invalid request parameters', 'Nein')
const about = fc.record({
  protocolVersion: fc.constantFrom('2025-06-18', 'x', 7),
  supportedVersions: fc.constantFrom(undefined, ['2026-07-28'], ['2026-07-28', '2025-06-18'], ['2025-06-18'], 'x'),
  capabilities: fc.constantFrom({}, { tools: {} }, { logging: {}, tools: { listChanged: true } }, { session: {} }, 7),
  serverInfo: fc.constantFrom({}, { name: 'http api' }, { name: 'local cli' }, { architecture: 'stateful' }, 'x'),
  tools: fc.constantFrom(undefined, [], [{}], 'x'),
})
const body = fc.oneof(
  fc.record({ kind: fc.constant('result' as const), result: about }),
  fc.record({
    kind: fc.constant('error' as const),
    code: fc.constantFrom(undefined, -32601, -32602, -32022, 0),
    message: words,
    data: fc.constantFrom(undefined, 'session', { supported: ['2026-07-28'] }),
  }),
  fc.record({ kind: fc.constant('refused' as const), status: fc.constantFrom(400, 401, 405, 503), text: words }),
  fc.record({ kind: fc.constant('redirected' as const), to: fc.constant('/x'), isElsewhere: fc.boolean() }),
  fc.constant({ kind: 'timed-out' as const, waitedMs: 10 }),
  fc.record({ kind: fc.constant('disconnected' as const), why: fc.constant('x'), wasConnected: fc.boolean() }),
  fc.constant({ kind: 'unreadable' as const, why: 'x' }),
  fc.constant({ kind: 'not-sent' as const }),
)
const reply: fc.Arbitrary<ProbeReply> = fc
  .tuple(body, fc.option(facts))
  .map(([said, http]) => ({ ...said, ...(http !== null && { http }) }))
const stream: fc.Arbitrary<StreamReply> = fc.record({
  kind: fc.constant('stream' as const),
  events: fc.constantFrom([], [{ id: undefined, event: 'endpoint', data: '/messages' }]),
  http: facts,
})

const server = fc.record({
  transport: fc.constantFrom('http' as const, 'stdio' as const),
  known: fc.constantFrom(undefined, 'STATELESS' as const, 'STATEFUL' as const, 'UNKNOWN' as const),
  discover: reply,
  modernList: reply,
  initialize: reply,
  bareList: reply,
  barePing: reply,
  sseStream: fc.oneof(reply, stream),
  control: reply,
})
type Server = typeof server extends fc.Arbitrary<infer T> ? T : never

const orders = fc.constantFrom<Order>('usual', 'documented', 'cheap-first')
const some = fc.subarray(Object.keys(METHODS) as Method[], { minLength: 1 })

function walk(
  { transport, known, discover, ...answers }: Server,
  order: Order,
  methods: readonly Method[] | undefined,
) {
  const list = known === undefined ? [] : [{ match: 'it', state: known }]
  let findings: Findings = { transport, metadata: guessFromMetadata({ type: transport, container: 'it' }, list) }
  const asked: Step[] = []
  for (;;) {
    const next = nextStep(findings, order, methods)
    if ('decided' in next) return { asked, decided: next.decided }
    expect(asked).not.toContain(next.ask)
    asked.push(next.ask)
    findings = { ...findings, ...(next.ask === 'era' ? { era: readEra(discover) } : { [next.ask]: answers[next.ask] }) }
  }
}

test('it asks each thing once, and what it decides is the same for the same answers', () => {
  fc.assert(
    fc.property(server, orders, fc.option(some, { nil: undefined }), (one, order, methods) => {
      const { asked, decided } = walk(one, order, methods)
      expect(walk(one, order, methods)).toEqual({ asked, decided })
      expect(decided.message).toMatch(/\S.*[.":]$/s)
      expect(decided.state === 'UNKNOWN').toBe(decided.decidedBy === 'nothing')
      expect(decided.state === 'UNKNOWN' ? decided.confidence : 0).toBe(0)
    }),
    { numRuns: 2_000 },
  )
})

test('a server that cannot be reached is never decided, unless it is a known one', () => {
  const nobody = fc.constantFrom<ProbeReply>(
    { kind: 'timed-out', waitedMs: 1 },
    { kind: 'unreadable', why: 'x' },
    { kind: 'not-sent' },
  )
  fc.assert(
    fc.property(server, nobody, orders, (one, said, order) => {
      const { decided } = walk({ ...one, known: undefined, discover: said, initialize: said }, order, undefined)
      expect(decided.state).toBe('UNKNOWN')
    }),
  )
})
