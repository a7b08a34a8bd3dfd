/** Servers as they are met: every status, with and without a JSON-RPC body, older transports, programs with habits. */
import { fileURLToPath } from 'node:url'
import { type Exchanged, probe, type ProbeOptions, type State } from 'pannier/probe'
import { describe, expect, test } from 'vitest'
import { isThere } from './fixtures/processes.ts'
import { json, type Respond, type Seen, startHost } from './fixtures/host.ts'
import { error, plainAnswer } from './fixtures/legacyAnswers.ts'
import { startSessionHost } from './fixtures/sessionHost.ts'

const odd = fileURLToPath(new URL('programs/nonconforming.ts', import.meta.url))
const program = (way: string) => ({ command: process.execPath, args: [odd, way] })

/** Answers everything alike. */
const always = (respond: Respond) => startHost(respond)

describe('a server that answers everything with', () => {
  test.each([
    [400, 'To initialize it answers HTTP 400.'],
    [401, 'It refuses requests without the right credentials (HTTP 401), so nothing can be known about its sessions.'],
    [403, 'It refuses requests without the right credentials (HTTP 403), so nothing can be known about its sessions.'],
    [404, 'To initialize it answers HTTP 404.'],
    [405, 'To initialize it answers HTTP 405.'],
    [406, 'To initialize it answers HTTP 406.'],
    [429, 'To initialize it answers HTTP 429.'],
    [500, 'To initialize it answers HTTP 500.'],
    [503, 'To initialize it answers HTTP 503.'],
  ])('%i is UNKNOWN, with a page, with words and with an error of JSON-RPC', async (status, message) => {
    const page = await always((_, res) => res.writeHead(status, { 'content-type': 'text/html' }).end('<p>session</p>'))
    const words = await always((_, res) => res.writeHead(status).end('no session'))
    const body = await always(({ message: { id } }, res) => json(res, error(id ?? null, -32000, 'no session'), status))
    const verdicts = await Promise.all([page, words, body].map(({ url }) => probe(url)))
    for (const verdict of verdicts)
      expect(verdict).toMatchObject({ state: 'UNKNOWN', decidedBy: 'nothing', era: 'unknown' })
    expect(verdicts[0]?.message).toBe(message)
    for (const { seen } of [page, words, body]) expect(seen.length).toBeLessThanOrEqual(3)
  })
})

describe('a server that lets initialize in and refuses tools/list', () => {
  type Case = readonly [
    how: string,
    refuse: (seen: Seen, res: Parameters<Respond>[1]) => unknown,
    state: State,
    by: string,
  ]

  const CASES: readonly Case[] = [
    [
      'with 400 and an error',
      (_, res) => json(res, error(null, -32000, 'Mcp-Session-Id header is required'), 400),
      'STATEFUL',
      'sequential',
    ],
    [
      'with 400 and words',
      (_, res) => res.writeHead(400).end('Invalid or missing session ID'),
      'STATEFUL',
      'sequential',
    ],
    [
      'with 404 and an error',
      (_, res) => json(res, error(null, -32001, 'Session not found'), 404),
      'STATEFUL',
      'sequential',
    ],
    [
      'with 422 and words',
      (_, res) => res.writeHead(422).end('Unexpected message, expect initialize request'),
      'STATEFUL',
      'sequential',
    ],
    [
      'with 401 and words',
      (_, res) => res.writeHead(401).end('Unauthorized: Session ID is required'),
      'STATEFUL',
      'sequential',
    ],
    [
      'with 200 and an error',
      ({ message }, res) => json(res, error(message.id, 0, 'not initialized')),
      'STATEFUL',
      'sequential',
    ],
    ['with an error that is a text', (_, res) => json(res, { error: 'no session' }, 400), 'STATEFUL', 'sequential'],
    [
      'with a page',
      (_, res) => res.writeHead(400, { 'content-type': 'text/html' }).end('<p>session</p>'),
      'STATEFUL',
      'control',
    ],
    ['with a bare 400', (_, res) => res.writeHead(400).end(), 'STATEFUL', 'control'],
    ['with a bare 500', (_, res) => res.writeHead(500).end(), 'STATEFUL', 'control'],
    [
      'with another error',
      ({ message }, res) => json(res, error(message.id, -32602, 'Invalid request parameters')),
      'STATEFUL',
      'control',
    ],
    [
      'in another language',
      ({ message }, res) => json(res, error(message.id, -32000, 'Keine Sitzung')),
      'STATEFUL',
      'control',
    ],
    ['by hanging up', (_, res) => res.destroy(), 'STATEFUL', 'control'],
    [
      'with a challenge',
      (_, res) => res.writeHead(401, { 'www-authenticate': 'Bearer' }).end('session'),
      'STATEFUL',
      'control',
    ],
    ['because it is busy', (_, res) => res.writeHead(503).end('no session'), 'UNKNOWN', 'nothing'],
  ]

  test.each(CASES)('%s', async (_, refuse, state, decidedBy) => {
    const host = await startSessionHost({ refuse })
    const verdict = await probe(host.url)
    expect(verdict).toMatchObject({ state, decidedBy })
    expect(host.seen.length).toBeLessThanOrEqual(8)
    const count = (method: string): number => host.asked.filter((asked) => asked === method).length
    expect(count('DELETE')).toBe(count('initialize'))
  })
})

test('a server that wants the revision named, and nothing else, is STATELESS', async () => {
  const host = await startHost(({ verb, headers, message }, res) => {
    if (verb !== 'POST') return res.writeHead(405).end()
    const isNamed = message['method'] === 'initialize' || headers['mcp-protocol-version'] === '2025-06-18'
    return isNamed ? json(res, plainAnswer(message)) : res.writeHead(400).end('Missing MCP-Protocol-Version')
  })
  expect(await probe(host.url)).toMatchObject({ state: 'STATELESS', decidedBy: 'control' })
})

test('a server without tools that says so either way is STATELESS', async () => {
  const refuse: Respond = ({ message: { id } }, res) => json(res, error(id, -32601, 'Method not found'))
  const host = await startHost((seen, res) =>
    seen.message['method'] === 'initialize' ? json(res, plainAnswer(seen.message, { prompts: {} })) : refuse(seen, res),
  )
  expect(await probe(host.url)).toMatchObject({ state: 'STATELESS', decidedBy: 'control', confidence: 0.7 })
})

test('a server that lists its tools for everybody, and wants a session for the rest, is STATEFUL', async () => {
  const host = await startSessionHost({
    refuse: ({ message }, res) =>
      message['method'] === 'tools/list'
        ? json(res, plainAnswer(message))
        : json(res, error(null, -32000, 'Bad Request: Server not initialized'), 400),
  })
  const verdict = await probe(host.url)
  expect(verdict).toMatchObject({ state: 'STATEFUL', decidedBy: 'control', confidence: 0.95 })
  expect(verdict.message).toMatch(/^It lists its tools for everybody, but wants a session: to ping without one/)
  expect(verdict.evidence).toContainEqual(expect.objectContaining({ check: 'session-required', points: 'STATEFUL' }))
  expect(verdict.requests).toBeLessThanOrEqual(8)
  // As it is described, the test looks at tools/list alone.
  expect(await probe(host.url, { methods: ['sequential'] })).toMatchObject({ state: 'STATELESS' })
})

test('a server that lets nobody in is quoted: it may mean the name it was called by', async () => {
  const host = await always((_, res) => res.writeHead(403).end('Access is only allowed at localhost:8931'))
  const verdict = await probe(host.url)
  expect(verdict.state).toBe('UNKNOWN')
  expect(verdict.message).toMatch(/ It says: "Access is only allowed at localhost:8931"\.$/)
})

test('a server that wants both media types gets them', async () => {
  const host = await startHost(({ verb, headers, message }, res) => {
    const accepts = headers.accept ?? ''
    const isFine = accepts.includes('application/json') && accepts.includes('text/event-stream')
    return verb === 'POST' && isFine ? json(res, plainAnswer(message)) : res.writeHead(406).end()
  })
  expect(await probe(host.url)).toMatchObject({ state: 'STATELESS', decidedBy: 'sequential' })
})

describe('redirects', () => {
  test('within the host are followed once and remembered', async () => {
    const host = await startHost(({ path, message, verb }, res) => {
      if (path === '/mcp') return res.writeHead(307, { location: '/mcp/' }).end()
      return verb === 'POST' ? json(res, plainAnswer(message)) : res.writeHead(405).end()
    })
    expect(await probe(host.url)).toMatchObject({ state: 'STATELESS' })
    expect(host.seen.filter(({ path }) => path === '/mcp')).toHaveLength(1)
    expect(host.seen.length).toBeLessThanOrEqual(8)
  })

  test('that would make another request of it are told', async () => {
    const host = await always((_, res) => res.writeHead(301, { location: '/elsewhere' }).end())
    const { state, message, requests } = await probe(host.url)
    expect({ state, requests }).toEqual({ state: 'UNKNOWN', requests: 1 })
    expect(message).toBe('Nothing can be known: it redirects to /elsewhere; if that is right, give that address.')
  })

  test('in a circle end', async () => {
    const host = await always((_, res) => res.writeHead(307, { location: '/mcp' }).end())
    expect(await probe(host.url)).toMatchObject({ state: 'UNKNOWN', requests: 4 })
  })
})

describe('the transport of the first revision', () => {
  const startOld = () =>
    startHost(({ verb }, res) => {
      if (verb !== 'GET') return res.writeHead(404).end('Cannot POST /sse')
      return res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write('event: endpoint\ndata: /messages?sessionId=1\n\n')
    })

  test('is STATEFUL: the stream is the session', async () => {
    const host = await startOld()
    expect(await probe(host.url)).toMatchObject({
      state: 'STATEFUL',
      decidedBy: 'transport',
      era: 'legacy',
      requests: 3,
    })
  })

  test('is no stream that says nothing', async () => {
    const host = await startHost(({ verb }, res) => {
      if (verb !== 'GET') return res.writeHead(405).end()
      return res.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n')
    })
    expect(await probe(host.url, { timeoutMs: 200 })).toMatchObject({ state: 'UNKNOWN' })
  })
})

describe('a program that', () => {
  type Case = readonly [way: string, state: State, by: string, options: ProbeOptions]

  /** A machine that is busy may take its time to start a process. */
  const PATIENT = { timeoutMs: 60_000 }

  const CASES: readonly Case[] = [
    ['exits on the unknown', 'STATEFUL', 'control', PATIENT],
    ['blames the parameters', 'STATEFUL', 'control', PATIENT],
    ['logs on stdout', 'STATELESS', 'sequential', PATIENT],
    ['starts slowly', 'STATELESS', 'sequential', PATIENT],
    ['ignores what it does not know', 'STATELESS', 'sequential', { timeoutMs: 8_000 }],
    ['asks first', 'STATELESS', 'sequential', PATIENT],
    ['never answers', 'UNKNOWN', 'nothing', { timeoutMs: 300 }],
  ]

  test.concurrent.each(CASES)('%s', async (way, state, decidedBy, options) => {
    const verdict = await probe(program(way), options)
    expect(verdict, JSON.stringify(verdict)).toMatchObject({ state, decidedBy, transport: 'stdio' })
  })

  test('logs on stdout is told to', async () => {
    const { evidence } = await probe(program('logs on stdout'), PATIENT)
    expect(evidence.find(({ check }) => check === 'stray-output')?.sentence).toBe(
      'It writes 3 lines to its standard output that are not messages.',
    )
  })

  test('ends at once is UNKNOWN, with its last words and without its secrets', async () => {
    const exchanged: Exchanged[] = []
    const address = { ...program('ends at once'), env: { TOKEN_VALUE: 'very-secret' } }
    const verdict = await probe(address, { onExchange: (one) => exchanged.push(one) })
    expect(verdict.message).toBe(
      'To initialize it gives no answer: its process ended with exit code 3; its last output: "Missing TOKEN_VALUE=[hidden]".',
    )
    expect(JSON.stringify([verdict, exchanged])).not.toContain('very-secret')
  })

  test('is not there cannot be probed', async () => {
    await expect(probe(['no-such-program-here'])).rejects.toMatchObject({
      code: 'PROBE_NOT_STARTED',
      message: "The server's program could not be started: there is no such program, or no such folder to start it in.",
    })
  })

  test('has grandchildren, and minds no SIGTERM, is gone afterwards with all of them', async () => {
    const pids: number[] = []
    await probe(program('has grandchildren'), {
      methods: ['sequential'],
      onExchange: ({ text }) => void (text.startsWith('pids ') && pids.push(...text.slice(5).split(' ').map(Number))),
    })
    expect(pids).toHaveLength(4)
    // Whoever adopts them may take a moment to bury them.
    await expect.poll(() => pids.filter(isThere)).toEqual([])
  })
})
