/** What the probe sends and on which connections, and what it makes of the two servers of the results table. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Exchanged, probe } from 'pannier/probe'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { proves } from '../proves.ts'
import { json, startHost } from './fixtures/host.ts'
import { plainAnswer } from './fixtures/legacyAnswers.ts'
import { startSessionHost } from './fixtures/sessionHost.ts'

const program = (name: string): string => fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url))

async function startProgram(name: string): Promise<string> {
  const child = spawn(process.execPath, [program(name), 'http'], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  for await (const line of createInterface(child.stdout)) return line
  throw new Error('The program ended before it said where it listens.')
}

const SERENA = "method 'tools/list' is invalid during session initialization"

describe('the servers of the results table', () => {
  proves('DT-28', 'a GitHub-style server over HTTP is found STATELESS by the sequential test, 99 % sure', async () => {
    const url = await startProgram('githubStyle')
    const expected = { state: 'STATELESS', decidedBy: 'sequential', confidence: 0.99, details: { toolCount: 2 } }
    expect(await probe(url, { order: 'documented' })).toMatchObject(expected)
    expect(await probe(url)).toMatchObject({ state: 'STATELESS', protocol: { state: 'STATELESS', confidence: 0.98 } })
    expect(await probe(url, { methods: ['sequential'] })).toMatchObject(expected)
  })

  proves('DT-28', 'a Serena-style server over HTTP is found STATEFUL by the sequential test, 99 % sure', async () => {
    const url = await startProgram('serenaStyle')
    const expected = { state: 'STATEFUL', decidedBy: 'sequential', confidence: 0.99, details: { error: SERENA } }
    expect(await probe(url, { order: 'documented' })).toMatchObject(expected)
    expect(await probe(url, { methods: ['sequential'] })).toMatchObject(expected)
    // In the usual order a confidence is the frequency that was measured.
    expect(await probe(url)).toMatchObject({ ...expected, confidence: 0.95 })
  })

  proves('DT-28', 'so they are as programs, and twice the same', async () => {
    const verdicts = await Promise.all(
      ['githubStyle', 'serenaStyle', 'githubStyle', 'serenaStyle'].map((name) =>
        probe([process.execPath, program(name)], { timeoutMs: 60_000 }),
      ),
    )
    expect(verdicts.map(({ state }) => state)).toEqual(['STATELESS', 'STATEFUL', 'STATELESS', 'STATEFUL'])
    const told = verdicts.map((verdict) => ({ ...verdict, durationMs: 0, checkedAt: 0 }))
    expect(told.slice(0, 2)).toEqual(told.slice(2))
  })
})

describe('method 1 over HTTP', () => {
  proves(
    'DT-1',
    'sends initialize with id 1, revision 2024-11-05, no capabilities, as probe/1.0, and closes',
    async () => {
      const host = await startHost(({ message }, res) => json(res, plainAnswer(message)))
      await probe(host.url, { methods: ['sequential'] })
      expect(host.seen[0]?.message).toEqual({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'probe', version: '1.0' } },
      })
      expect(host.seen[0]?.headers).toMatchObject({
        accept: 'application/json, text/event-stream',
        connection: 'close',
      })
    },
  )

  proves('DT-3', 'sends tools/list with id 2 on another connection, without a session, and nothing else', async () => {
    const host = await startSessionHost()
    await probe(host.url, { methods: ['sequential'] })
    expect(host.seen[1]?.message).toEqual({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} })
    expect(host.seen[1]?.headers).not.toHaveProperty('mcp-session-id')
    expect(host.asked).toEqual(['initialize', 'tools/list', 'DELETE'])
    expect(host.seen.map(({ socket }) => socket)).toEqual([1, 2, 3])
  })
})

proves('DT-1 DT-3', 'method 1 with a program starts a process for each of the two, one after the other', async () => {
  const heard: Exchanged[] = []
  await probe([process.execPath, program('serenaStyle')], {
    methods: ['sequential'],
    onExchange: (exchanged) => heard.push(exchanged),
  })
  const told = heard.map(({ direction, connection, way, text }) => [direction, connection, way, JSON.parse(text).id])
  expect(told).toEqual([
    ['sent', 1, 'stdin', 1],
    ['received', 1, 'stdout', 1],
    ['sent', 2, 'stdin', 2],
    ['received', 2, 'stdout', 2],
  ])
})

proves('DT-8', 'a server that says nothing is given up after 10 seconds for each answer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const arrived = Promise.withResolvers<void>()
  const host = await startHost(() => arrived.resolve())
  let isOver = false
  const probing = probe(host.url, { methods: ['sequential'] }).finally(() => {
    isOver = true
  })
  await arrived.promise
  await vi.advanceTimersByTimeAsync(9_999)
  expect(isOver).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(await probing).toMatchObject({ state: 'UNKNOWN', message: 'To initialize it says nothing for 10 s.' })
})

proves('DT-8', 'a header such as Authorization goes with every request, and to no other host', async () => {
  const elsewhere = await startHost((_, res) => res.end())
  const host = await startSessionHost()
  const moved = await startHost((_, res) => res.writeHead(307, { location: elsewhere.url }).end())
  const headers = { Authorization: 'Bearer secret-token' }
  await probe(host.url, { headers, checks: 'all' })
  const verdict = await probe(moved.url, { headers })
  expect(host.seen.length).toBeGreaterThan(8)
  for (const seen of host.seen) expect(seen.headers.authorization).toBe('Bearer secret-token')
  expect(moved.seen[0]?.headers.authorization).toBe('Bearer secret-token')
  expect(elsewhere.seen).toEqual([])
  expect(verdict.state).toBe('UNKNOWN')
  expect(verdict.message).toContain('another origin; if that is right, give that address')
})

test('what the protocol needs, and that nothing is compressed, cannot be given otherwise', async () => {
  const host = await startSessionHost()
  await probe(host.url, { headers: { 'Accept-Encoding': 'gzip', ACCEPT: 'text/html' }, methods: ['sequential'] })
  expect(host.seen[0]?.headers).toMatchObject({
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
  })
})

test('a session of somebody else is refused: with it, no request would be one without a session', async () => {
  const headers = { 'MCP-Session-ID': 'x' }
  for (const given of [{ headers }, { otherHeaders: headers }]) {
    await expect(probe('http://127.0.0.1:1/', given)).rejects.toMatchObject({
      code: 'PROBE_OPTION_INVALID',
      message: 'Leave out the header Mcp-Session-Id: the probe begins its own sessions.',
    })
  }
})

test('a header that cannot be sent is refused by its name', async () => {
  const headers = { 'X-Key': 'one\ntwo' }
  await expect(probe('http://127.0.0.1:1/', { headers })).rejects.toMatchObject({
    code: 'PROBE_OPTION_INVALID',
    message: 'The header "X-Key" cannot be sent as it is given.',
  })
})

proves('DT-10', 'a verdict has a state, a message and details, and is plain JSON', async () => {
  const host = await startSessionHost()
  const verdict = await probe(host.url)
  expect(verdict).toMatchObject({ state: 'STATEFUL', details: { error: 'Bad Request: Server not initialized' } })
  expect(verdict.message).toMatch(/^It wants a session: .*\.$/)
  expect(JSON.parse(JSON.stringify(verdict))).toEqual(verdict)
})

proves('DT-18', 'a verdict states the accuracy of each method', async () => {
  const host = await startSessionHost()
  const { methods } = await probe(host.url)
  expect(methods).toMatchObject({
    sequential: { state: 'STATEFUL', accuracy: 0.99 },
    capabilities: { state: 'UNKNOWN', accuracy: 0.7 },
    metadata: { state: 'STATELESS', accuracy: 0.5 },
  })
})

test('method 3 alone asks nobody', async () => {
  const host = await startSessionHost()
  expect(await probe(host.url, { methods: ['metadata'] })).toMatchObject({
    state: 'STATELESS',
    requests: 0,
    evidence: [],
  })
  expect(host.seen).toEqual([])
})

test('what a server does counts more than what is known by its name, and both are told', async () => {
  const host = await startSessionHost()
  const known = [{ match: '127.0.0.1', state: 'STATELESS', because: 'I wrote it.' }] as const
  expect(await probe(host.url, { known })).toMatchObject({
    state: 'STATEFUL',
    decidedBy: 'sequential',
    protocol: { state: 'STATEFUL', decidedBy: 'sequential' },
    process: { state: 'STATELESS', decidedBy: 'metadata', because: ['It is known as 127.0.0.1. I wrote it.'] },
  })
})

test('a server that needs no session and is known to keep something is stateful', async () => {
  const host = await startHost(({ message }, res) => json(res, plainAnswer(message)))
  const known = [{ match: '127.0.0.1', state: 'STATEFUL', because: 'It keeps orders.' }] as const
  expect(await probe(host.url, { known })).toMatchObject({
    state: 'STATEFUL',
    decidedBy: 'metadata',
    message: 'It needs no session, but its process seems to keep something: It is known as 127.0.0.1. It keeps orders.',
    protocol: { state: 'STATELESS' },
    process: { state: 'STATEFUL', decidedBy: 'metadata' },
  })
})

test.each(['documented', 'cheap-first'] as const)(
  'in the order %s a server that the user knows is not asked anything',
  async (order) => {
    const host = await startSessionHost()
    const known = [{ match: '127.0.0.1', state: 'STATELESS', because: 'I wrote it.' }] as const
    expect(await probe(host.url, { known, order })).toMatchObject({
      state: 'STATELESS',
      decidedBy: 'metadata',
      requests: 0,
    })
  },
)

test('the checks that somebody names are made of a known server, too', async () => {
  const known = [{ match: '127.0.0.1', state: 'STATEFUL' }] as const
  for (const order of ['documented', 'cheap-first'] as const) {
    const host = await startSessionHost()
    const { evidence, decidedBy } = await probe(host.url, { known, order, checks: ['second-connection'] })
    expect(decidedBy).toBe('metadata')
    expect(evidence.map(({ check }) => check)).toEqual([
      'era',
      'session-issued',
      'session-required',
      'second-connection',
    ])
    expect(host.asked.at(-1)).toBe('DELETE')
  }
  const nobody = await probe('http://127.0.0.1:1/mcp', { known, order: 'cheap-first', checks: 'all' })
  expect(nobody).toMatchObject({ state: 'STATEFUL', requests: 1 })
})

test('a probe can be given up, and cleans up even so', async () => {
  const abort = new AbortController()
  const host = await startSessionHost({ refuse: () => abort.abort(new Error('enough')) })
  await expect(probe(host.url, { signal: abort.signal, methods: ['sequential'] })).rejects.toThrow('enough')
  expect(host.asked).toEqual(['initialize', 'tools/list', 'DELETE'])
  await expect(probe(host.url, { signal: abort.signal })).rejects.toThrow('enough')
})
