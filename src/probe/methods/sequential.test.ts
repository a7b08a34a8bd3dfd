import { describe, expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import type { ProbeReply } from '../wire/reply.ts'
import { sequentialResult } from './sequential.ts'

const initialized: ProbeReply = { kind: 'result', result: { protocolVersion: '2024-11-05', capabilities: {} } }
const listed = (tools: unknown): ProbeReply => ({ kind: 'result', result: { tools } })
const error = (message: string, code = -32000, data?: unknown): ProbeReply => ({ kind: 'error', code, message, data })
const http = (status: number, more = {}) => ({ http: { status, session: undefined, challenge: false, ...more } })

const stateOf = (bare: ProbeReply) => sequentialResult(initialized, bare).state

test('an error from initialize gives UNKNOWN, whatever comes after', () => {
  const failed: ProbeReply[] = [
    error('session initialization failed'),
    { kind: 'refused', status: 500, text: '' },
    { kind: 'timed-out', waitedMs: 1 },
    { kind: 'disconnected', why: 'x', wasConnected: true },
    { kind: 'unreadable', why: 'x' },
  ]
  for (const initialize of failed) expect(sequentialResult(initialize, listed([])).state).toBe('UNKNOWN')
})

// Messages of real servers.
const SPELLINGS = [
  "method 'tools/list' is invalid during session initialization",
  'method "tools/list" is invalid during session initialization',
  'Bad Request: Server not initialized',
  'Bad Request: Mcp-Session-Id header is required',
  'Bad Request: No valid session ID provided',
  'Bad Request: Missing session ID',
  'SESSION NOT FOUND',
  'Received request before INITIALIZATION was complete',
  'Server has not been initialised',
  'A new session can only be created by an initialize request.',
  'Unexpected message, expect initialize request',
]

proves('DT-4', 'an error that mentions a session or its beginning gives STATEFUL, in any spelling and any case', () => {
  for (const spelling of SPELLINGS) expect(stateOf(error(spelling)), spelling).toBe('STATEFUL')
})

test.each(SPELLINGS)('so does an HTTP refusal without JSON-RPC that says: %s', (text) => {
  expect(stateOf({ kind: 'refused', status: 400, text, ...http(400) })).toBe('STATEFUL')
})

test('the words may also stand in the data of an error', () => {
  expect(stateOf(error('Bad Request', -32600, 'no session'))).toBe('STATEFUL')
})

test('another error gives UNKNOWN, and its words are told', () => {
  const result = sequentialResult(initialized, error('Method not found', -32601))
  expect(result).toMatchObject({ state: 'UNKNOWN', confidence: 0, details: { error: 'Method not found' } })
  expect(result.message).toContain('Method not found')
})

proves('DT-6', 'a list of tools gives STATELESS, with its length', () => {
  for (const [tools, message] of [
    [[], /0 tools/],
    [[{}], /1 tool\)/],
    [[{}, {}], /2 tools/],
  ] as const) {
    const result = sequentialResult(initialized, listed(tools))
    expect(result).toMatchObject({ state: 'STATELESS', confidence: 0.99, details: { toolCount: tools.length } })
    expect(result.message).toMatch(message)
  }
})

test('any other answer gives UNKNOWN', () => {
  const others: ProbeReply[] = [
    { kind: 'result', result: {} },
    listed('none'),
    listed({ length: 2 }),
    { kind: 'unreadable', why: 'it is not JSON' },
    { kind: 'timed-out', waitedMs: 10 },
    { kind: 'disconnected', why: 'the connection was cut', wasConnected: true },
    { kind: 'redirected', to: '/x', isElsewhere: false },
  ]
  for (const other of others) expect(stateOf(other), other.kind).toBe('UNKNOWN')
})

proves('DT-10', 'a result has a state, a message and details, and says how accurate the method is', () => {
  expect(sequentialResult(initialized, listed([{}]))).toEqual({
    method: 'sequential',
    state: 'STATELESS',
    message: 'It answers tools/list on a connection without initialize (1 tool).',
    confidence: 0.99,
    level: 'high',
    accuracy: 0.99,
    details: { toolCount: 1 },
  })
})

describe('a refusal for missing credentials', () => {
  test('is no session, even if its error talks about one', () => {
    const wall = { ...error('Your session has expired; log in.'), ...http(401, { challenge: true }) }
    expect(stateOf(wall)).toBe('UNKNOWN')
  })

  test('is none where a server says 401 without a challenge and means the session', () => {
    const wall: ProbeReply = {
      kind: 'refused',
      status: 401,
      text: 'Unauthorized: Session ID is required',
      ...http(401),
    }
    expect(stateOf(wall)).toBe('STATEFUL')
  })
})
