import { describe, expect, test } from 'vitest'
import { readEra } from '../methods/era.ts'
import type { Findings } from './findings.ts'
import type { ProbeReply } from '../wire/reply.ts'
import { guessFromMetadata } from '../methods/metadata.ts'
import { nextStep, type Order } from './rules.ts'
import type { Method } from '../methods/result.ts'

const http = (status: number, session?: string, challenge = false) => ({ http: { status, session, challenge } })
const listed: ProbeReply = { kind: 'result', result: { tools: [{}, {}] }, ...http(200) }
const sessionError: ProbeReply = { kind: 'error', code: 0, message: 'no session', data: undefined, ...http(400) }
const otherError: ProbeReply = {
  kind: 'error',
  code: -32602,
  message: 'Invalid request parameters',
  data: '',
  ...http(200),
}
const noMethod: ProbeReply = { kind: 'error', code: -32601, message: 'Method not found', data: undefined, ...http(200) }
const wall: ProbeReply = { kind: 'refused', status: 401, text: '', ...http(401, undefined, true) }
const gone: ProbeReply = { kind: 'disconnected', why: 'nothing listens there', wasConnected: false }
const ended: ProbeReply = { kind: 'disconnected', why: 'its process ended with exit code 1', wasConnected: true }
const silent: ProbeReply = { kind: 'timed-out', waitedMs: 10_000 }

const initialized = (name = 'x', capabilities: object = {}, session?: string): ProbeReply => ({
  kind: 'result',
  result: { protocolVersion: '2025-06-18', capabilities, serverInfo: { name, version: '1' } },
  ...http(200, session),
})
const discovered = (versions = ['2026-07-28'], capabilities: object = { tools: {} }): ProbeReply => ({
  kind: 'result',
  result: { supportedVersions: versions, capabilities },
  ...http(200),
})

const overHttp: Findings = { transport: 'http', metadata: guessFromMetadata({ type: 'http' }) }
const overStdio: Findings = { transport: 'stdio', metadata: guessFromMetadata({ type: 'stdio' }) }
const known: Findings = { transport: 'http', metadata: guessFromMetadata({ container: 'serena-mcp-server' }) }
const legacy = readEra(noMethod)
const modern = readEra(discovered())

/** The next step, or the state that is decided and the rule that decided it. */
function next(findings: Findings, order: Order = 'usual', methods?: readonly Method[]): string {
  const step = nextStep(findings, order, methods)
  return 'ask' in step ? `ask ${step.ask}` : `${step.decided.state} by ${step.decided.decidedBy}`
}

const statelessScore = initialized('api', { logging: {} })
const statefulScore = initialized('local', { resources: { subscribe: true } })

const COMBINED: readonly (readonly [name: string, findings: Findings, expected: string])[] = [
  ['the era comes first', overHttp, 'ask era'],
  ['even for a known server', known, 'ask era'],
  ['another is initialized', { ...overHttp, era: legacy }, 'ask initialize'],
  ['then asked on another connection', { ...overHttp, era: legacy, initialize: initialized() }, 'ask bareList'],
  [
    'a list decides',
    { ...overHttp, era: legacy, initialize: initialized(), bareList: listed },
    'STATELESS by sequential',
  ],
  [
    'over stdio, too',
    { ...overStdio, era: legacy, initialize: initialized(), bareList: listed },
    'STATELESS by sequential',
  ],
  [
    'where a session was given, the list alone does not',
    { ...overHttp, era: legacy, initialize: initialized('x', {}, 's'), bareList: listed },
    'ask barePing',
  ],
  [
    'nor where the rest wants that session',
    { ...overHttp, era: legacy, initialize: initialized('x', {}, 's'), bareList: listed, barePing: sessionError },
    'STATEFUL by control',
  ],
  ...[listed, noMethod, silent].map(
    (barePing) =>
      [
        `a ping that does not want it changes nothing (${barePing.kind})`,
        { ...overHttp, era: legacy, initialize: initialized('x', {}, 's'), bareList: listed, barePing },
        'STATELESS by sequential',
      ] as const,
  ),
  [
    'so does a session error',
    { ...overHttp, era: legacy, initialize: initialized(), bareList: sessionError },
    'STATEFUL by sequential',
  ],
  [
    'another error needs a control',
    { ...overHttp, era: legacy, initialize: initialized('x', {}, 's'), bareList: otherError },
    'ask control',
  ],
  [
    'answered after initialize only',
    { ...overHttp, era: legacy, initialize: initialized('x', {}, 's'), bareList: otherError, control: listed },
    'STATEFUL by control',
  ],
  [
    'in one process, too',
    { ...overStdio, era: legacy, initialize: initialized(), bareList: ended, control: listed },
    'STATEFUL by control',
  ],
  [
    'with the revision named, and without a session',
    { ...overHttp, era: legacy, initialize: initialized(), bareList: otherError, control: listed },
    'STATELESS by control',
  ],
  [
    'no such method either way',
    { ...overHttp, era: legacy, initialize: initialized('x', {}, 's'), bareList: noMethod, control: noMethod },
    'STATELESS by control',
  ],
  [
    'a control that fails differently decides nothing',
    { ...overHttp, era: legacy, initialize: initialized(), bareList: otherError, control: silent },
    'UNKNOWN by nothing',
  ],
  [
    'the score is the last resort',
    { ...overHttp, era: legacy, initialize: statelessScore, bareList: otherError, control: otherError },
    'STATELESS by capabilities',
  ],
  [
    'also where it is stateful',
    { ...overHttp, era: legacy, initialize: statefulScore, bareList: otherError, control: otherError },
    'STATEFUL by capabilities',
  ],
  [
    'what is declared comes before the score',
    {
      ...overHttp,
      era: legacy,
      initialize: initialized('api', { logging: {}, session: { persistent: true } }),
      bareList: otherError,
      control: otherError,
    },
    'STATEFUL by declaration',
  ],
  [
    'behaviour comes before what is declared',
    {
      ...overHttp,
      era: legacy,
      initialize: initialized('x', { session: { persistent: false } }),
      bareList: sessionError,
    },
    'STATEFUL by sequential',
  ],
  ['an auth wall is unknown', { ...overHttp, era: readEra(wall), initialize: wall }, 'UNKNOWN by nothing'],
  ['nobody there is unknown at once', { ...overHttp, era: readEra(gone) }, 'UNKNOWN by nothing'],
  [
    'a process that ends on the first question is asked the next',
    { ...overStdio, era: readEra(ended) },
    'ask initialize',
  ],
  ['silence is asked once more', { ...overHttp, era: readEra(silent) }, 'ask initialize'],
  [
    'a busy server says nothing about sessions',
    {
      ...overHttp,
      era: legacy,
      initialize: initialized(),
      bareList: { kind: 'refused', status: 503, text: 'session', ...http(503) },
    },
    'UNKNOWN by nothing',
  ],
  [
    'where a POST is not served, the older transport may be',
    { ...overHttp, era: legacy, initialize: { kind: 'refused', status: 404, text: '', ...http(404) } },
    'ask sseStream',
  ],
  [
    'its endpoint decides',
    {
      ...overHttp,
      era: legacy,
      initialize: { kind: 'refused', status: 405, text: '', ...http(405) },
      sseStream: {
        kind: 'stream',
        events: [{ event: 'endpoint', data: '/messages?sessionId=1', id: undefined }],
        ...http(200),
      },
    },
    'STATEFUL by transport',
  ],
  [
    'another stream does not',
    {
      ...overHttp,
      era: legacy,
      initialize: { kind: 'refused', status: 405, text: '', ...http(405) },
      sseStream: { kind: 'stream', events: [{ event: 'news', data: '/messages', id: undefined }], ...http(200) },
    },
    'UNKNOWN by nothing',
  ],
  ['a modern server is asked for its list', { ...overHttp, era: modern }, 'ask modernList'],
  ['and is stateless by definition', { ...overHttp, era: modern, modernList: listed }, 'STATELESS by era'],
  ['unless it wants a session all the same', { ...overHttp, era: modern, modernList: sessionError }, 'STATEFUL by era'],
  [
    'one that offers nothing needs no list',
    { ...overHttp, era: readEra(discovered(undefined, {})) },
    'STATELESS by era',
  ],
  [
    'one that refuses our revision for a later one is modern',
    {
      ...overHttp,
      era: readEra({ kind: 'error', code: -32022, message: '', data: { supported: ['2027-01-01'] } }),
    },
    'STATELESS by era',
  ],
  [
    'one that knows only older revisions is not',
    {
      ...overHttp,
      era: readEra({ kind: 'error', code: -32022, message: '', data: { supported: ['2025-11-25'] } }),
    },
    'ask initialize',
  ],
]

test('in the usual order each rule decides where those before it do not', () => {
  for (const [name, findings, expected] of COMBINED) expect(next(findings), name).toBe(expected)
})

test('in the documented order a known server decides, else the sequential test, else the score, and nothing else is asked', () => {
  const refused = { ...overHttp, initialize: otherError }
  const cases: [Findings, string][] = [
    [known, 'STATEFUL by metadata'],
    [overHttp, 'ask initialize'],
    [refused, 'UNKNOWN by nothing'],
    [{ ...overHttp, initialize: initialized() }, 'ask bareList'],
    [{ ...overHttp, initialize: initialized(), bareList: listed }, 'STATELESS by sequential'],
    [{ ...overHttp, initialize: initialized('x', {}, 's'), bareList: listed }, 'STATELESS by sequential'],
    [{ ...overHttp, initialize: initialized(), bareList: sessionError }, 'STATEFUL by sequential'],
    [{ ...overHttp, initialize: initialized(), bareList: otherError }, 'UNKNOWN by nothing'],
    [{ ...overHttp, initialize: statelessScore, bareList: otherError }, 'STATELESS by capabilities'],
    [{ ...overHttp, initialize: statefulScore, bareList: otherError }, 'STATEFUL by capabilities'],
  ]
  for (const [findings, expected] of cases) expect(next(findings, 'documented')).toBe(expected)
})

test('in the usual order behaviour decides, and a known name only where behaviour does not', () => {
  const started = { ...known, era: legacy, initialize: initialized() }
  const cases: [Findings, string][] = [
    [known, 'ask era'],
    [{ ...known, era: legacy }, 'ask initialize'],
    [started, 'ask bareList'],
    [{ ...started, bareList: listed }, 'STATELESS by sequential'],
    [{ ...started, bareList: sessionError }, 'STATEFUL by sequential'],
    [{ ...known, era: modern, modernList: listed }, 'STATELESS by era'],
    [{ ...known, era: readEra(wall), initialize: wall }, 'STATEFUL by metadata'],
    [{ ...known, era: readEra(gone) }, 'UNKNOWN by nothing'],
  ]
  for (const [findings, expected] of cases) expect(next(findings)).toBe(expected)
})

test('a server that had its only session is stateful', () => {
  const initialize = { ...otherError, message: 'Invalid Request: Server already initialized' }
  expect(next({ ...overHttp, era: legacy, initialize })).toBe('STATEFUL by control')
  expect(next({ ...overHttp, era: legacy, initialize }, 'documented')).toBe('UNKNOWN by nothing')
})

test('cheap first asks for nothing where the server is known, then looks at the score, then tests', () => {
  const started = { ...overHttp, era: legacy }
  const cases: [Findings, string][] = [
    [known, 'STATEFUL by metadata'],
    [overHttp, 'ask era'],
    [{ ...overHttp, era: modern, modernList: listed }, 'STATELESS by era'],
    [started, 'ask initialize'],
    [{ ...started, initialize: statelessScore }, 'STATELESS by capabilities'],
    [{ ...started, initialize: initialized() }, 'ask bareList'],
    [{ ...started, initialize: initialized(), bareList: sessionError }, 'STATEFUL by sequential'],
    [{ ...started, initialize: wall }, 'UNKNOWN by nothing'],
  ]
  for (const [findings, expected] of cases) expect(next(findings, 'cheap-first')).toBe(expected)
})

test('the score is never used alone', () => {
  const scored: Findings = { ...overHttp, initialize: statelessScore }
  expect(next(overHttp, 'usual', ['capabilities'])).toBe('ask initialize')
  const alone = nextStep(scored, 'usual', ['capabilities'])
  expect(alone).toMatchObject({ decided: { state: 'UNKNOWN', decidedBy: 'nothing' } })
  expect(alone).toMatchObject({ decided: { message: expect.stringMatching(/0\.8.*The score is never used alone\.$/) } })
  // Where the metadata disagree, the sequential test decides.
  expect(next({ ...overHttp, era: legacy, initialize: statefulScore }, 'cheap-first')).toBe('ask bareList')
})

describe('one method alone', () => {
  test('is asked exactly as it is described', () => {
    expect(next(overHttp, 'usual', ['sequential'])).toBe('ask initialize')
    expect(next({ ...overHttp, initialize: initialized() }, 'usual', ['sequential'])).toBe('ask bareList')
    const failed = { ...overHttp, initialize: initialized(), bareList: otherError }
    expect(nextStep(failed, 'usual', ['sequential'])).toMatchObject({
      decided: {
        state: 'UNKNOWN',
        decidedBy: 'nothing',
        message: expect.stringMatching(/^To tools\/list without initialize it answers with error/),
      },
    })
    expect(next(overHttp, 'usual', ['metadata'])).toBe('STATELESS by metadata')
    expect(next(overStdio, 'usual', ['metadata'])).toBe('STATEFUL by metadata')
  })

  test('two of them are combined in their order', () => {
    const failed = { ...overHttp, initialize: statelessScore, bareList: otherError }
    expect(next(failed, 'usual', ['sequential', 'capabilities'])).toBe('STATELESS by capabilities')
    expect(next(known, 'usual', ['sequential', 'metadata'])).toBe('STATEFUL by metadata')
  })
})

describe('a known server', () => {
  test('is told by what it is known as', () => {
    const kept = 'It is known as serena-mcp-server. Serena keeps a project and its language servers.'
    const decided = { state: 'STATEFUL', decidedBy: 'metadata', message: kept }
    expect(nextStep(known, 'documented')).toMatchObject({ decided })
    expect(nextStep(known, 'cheap-first')).toMatchObject({ decided })
    expect(nextStep(known, 'usual', ['metadata'])).toMatchObject({ decided })
  })

  test('that is said to be UNKNOWN is asked like any other', () => {
    const metadata = guessFromMetadata({ container: 'serena-mcp-server' }, [
      { match: 'serena-mcp-server', state: 'UNKNOWN' },
    ])
    for (const order of ['usual', 'documented', 'cheap-first'] as const) {
      expect(next({ ...known, metadata, era: legacy }, order)).toBe('ask initialize')
    }
  })
})

test('missing credentials are named as the reason', () => {
  const decided = nextStep({ ...overHttp, era: readEra(wall), initialize: wall }, 'usual')
  const message =
    'It refuses requests without the right credentials (HTTP 401), so nothing can be known about its sessions.'
  expect(decided).toMatchObject({ decided: { state: 'UNKNOWN', confidence: 0, message } })
})
