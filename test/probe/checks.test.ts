/** The named checks: what each of them finds, against servers that differ in that alone. */
import type { ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { probe, type CheckName, type ProbeOptions, type Verdict } from 'pannier/probe'
import { createServer, type Server } from 'pannier/server'
import { newKey } from 'pannier/state'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { quiet } from '../interop/fixtures/instances.ts'
import { events, type Host, json, startHost } from './fixtures/host.ts'
import { error, plainAnswer, result } from './fixtures/legacyAnswers.ts'
import { startSessionHost } from './fixtures/sessionHost.ts'

const told = ({ evidence }: Verdict, check: CheckName): string[] =>
  evidence.filter((one) => one.check === check).map(({ sentence }) => sentence)

const detailsOf = ({ evidence }: Verdict, check: CheckName) => evidence.find((one) => one.check === check)?.details

const all = (host: Host, options: ProbeOptions = {}) => probe(host.url, { checks: 'all', ...options })

describe('a session', () => {
  test('is issued, required, accepted from a second connection, ended, and not invented', async () => {
    const host = await startSessionHost()
    const verdict = await all(host)
    expect(told(verdict, 'session-issued')).toEqual(['initialize gives out a session id.'])
    expect(told(verdict, 'session-required')).toEqual(['The session id is required: without it tools/list is refused.'])
    expect(told(verdict, 'second-connection')).toEqual(['The session is accepted from a second connection.'])
    expect(detailsOf(verdict, 'after-delete')).toEqual({ status: 200, isEnded: true })
    expect(told(verdict, 'invented-session')[0]).toContain('made up it answers with error -32001 (HTTP 404)')
    expect(told(verdict, 'get-stream')).toEqual(['GET is not served (405): no stream outlives a request.'])
  })

  test('is not required where requests without it are answered', async () => {
    const host = await startSessionHost({ refuse: ({ message }, res) => json(res, plainAnswer(message)) })
    const verdict = await all(host)
    expect(verdict).toMatchObject({ state: 'STATELESS', decidedBy: 'sequential' })
    expect(told(verdict, 'session-required')[0]).toContain('not required')
  })

  test('may outlive its DELETE, and be made up, where nobody looks ids up', async () => {
    const host = await startSessionHost({ careless: true })
    const verdict = await all(host)
    expect(detailsOf(verdict, 'after-delete')).toEqual({ status: 200, isEnded: false })
    expect(told(verdict, 'invented-session')[0]).toContain('accepted')
  })

  test('is none where no id is given out', async () => {
    const host = await startHost(({ message }, res) => json(res, plainAnswer(message)))
    const verdict = await all(host)
    expect(told(verdict, 'session-issued')).toEqual(['initialize gives out no session id.'])
    expect(told(verdict, 'session-required')).toEqual([])
    expect(told(verdict, 'invented-session')[0]).toContain('accepted')
    expect(host.asked).not.toContain('DELETE')
  })

  test('that a server gives out with any answer is ended, each of them', async () => {
    let last = 0
    const host = await startHost(({ verb, message }, res) => {
      if (verb !== 'POST') return res.writeHead(405).end()
      const headers = { 'mcp-session-id': `session-${++last}` }
      const isBare = message['method'] !== 'initialize'
      return json(
        res,
        isBare ? error(message['id'], 0, 'invalid during initialization') : plainAnswer(message),
        200,
        headers,
      )
    })
    await probe(host.url)
    const ended = host.seen.filter(({ verb }) => verb === 'DELETE').map(({ headers }) => headers['mcp-session-id'])
    expect(new Set(ended)).toEqual(new Set(Array.from({ length: last }, (_, n) => `session-${n + 1}`)))
    expect(ended).toHaveLength(last)
    expect(host.seen.length).toBeLessThanOrEqual(8)
  })
})

describe('another replica', () => {
  test('that shares its sessions accepts one, and one that does not refuses it', async () => {
    const known = new Set<string>()
    const [host, friend, stranger] = await Promise.all([
      startSessionHost({ known }),
      startSessionHost({ known }),
      startSessionHost(),
    ])
    const verdict = await probe(host.url, { replicas: [friend.url, stranger.url] })
    expect(verdict.evidence.filter(({ check }) => check === 'replica')).toEqual([
      {
        check: 'replica',
        points: 'UNKNOWN',
        sentence: `The session is accepted by ${friend.url}.`,
        details: { replica: friend.url, taken: 'session', isAccepted: true },
      },
      {
        check: 'replica',
        points: 'STATEFUL',
        sentence: expect.stringContaining('Session not found'),
        details: { replica: stranger.url, taken: 'session', isAccepted: false },
      },
    ])
  })

  test('that takes an answer and drops it is told from one that brings it to the call', async () => {
    const question = { jsonrpc: '2.0', id: 'q', method: 'roots/list' }
    const start = (take: (res: ServerResponse) => void) =>
      startHost(({ verb, message }, res) => {
        if (verb !== 'POST') return res.writeHead(405).end()
        if (message.method === 'initialize')
          return json(res, plainAnswer(message), 200, { 'mcp-session-id': 'the session' })
        if (message.method === 'tools/call') {
          calling = { message, res }
          return res
            .writeHead(200, { 'content-type': 'text/event-stream' })
            .write(`data: ${JSON.stringify(question)}\n\n`)
        }
        const answer = plainAnswer(message)
        return answer === undefined || message.id === 'q' ? take(res) : json(res, answer)
      })
    let calling: { message: { id?: unknown }; res: ServerResponse } | undefined
    const done = () => `data: ${JSON.stringify({ jsonrpc: '2.0', id: calling?.message.id, result: {} })}\n\n`
    const [host, good, deaf] = await Promise.all([
      start((res) => res.writeHead(202).end()),
      start((res) => (res.writeHead(202).end(), calling?.res.end(done()))),
      start((res) => res.writeHead(202).end()),
    ])
    const answered = async (replica: string) => {
      const call = { name: 'asks' }
      const verdict = await probe(host.url, { replicas: [replica], call, checks: ['replica'], timeoutMs: 300 })
      return told(verdict, 'replica').slice(1)
    }
    expect(await answered(good.url)).toEqual([`An answer that came to ${good.url} reached the call that asked here.`])
    expect(await answered(deaf.url)).toEqual([
      `An answer that came to ${deaf.url} did not reach the call that asked here: it took it, and nothing came of it.`,
    ])
    expect(good.seen.find(({ message }) => message.id === 'q')?.message.result).toEqual({ roots: [] })
  })

  test('is looked for among the addresses of a name, where none is named', async () => {
    const host = await startSessionHost()
    expect(told(await probe(host.url, { checks: ['replica'] }), 'replica')).toEqual([
      'Its name has one address, so there is no other to ask.',
    ])
    // Two ways to write one address are as good as two machines here.
    const lookup = async () => ['::ffff:127.0.0.1', '::ffff:7f00:1', '127.0.0.1']
    const url = host.url.replace('127.0.0.1', 'many.test')
    expect(told(await probe(url, { checks: ['replica'], lookup }), 'replica')).toEqual([
      `The session is accepted by ${url} at ::ffff:127.0.0.1.`,
      `The session is accepted by ${url} at ::ffff:7f00:1.`,
    ])
    expect(host.seen.at(-1)?.headers.host).toMatch(/^many\.test:/)
  })
})

describe('without initialize', () => {
  test('prompts and resources are asked for where there are any, and a tool where it is named', async () => {
    const capabilities = { tools: {}, prompts: {}, resources: {} }
    const host = await startHost(({ verb, message }, res) =>
      verb === 'GET' ? res.writeHead(405).end() : json(res, plainAnswer(message, capabilities)),
    )
    const verdict = await probe(host.url, { call: { name: 'a', arguments: { x: 1 } } })
    expect(told(verdict, 'bare-prompts')).toEqual(['It answers prompts/list without initialize.'])
    expect(told(verdict, 'bare-resources')).toEqual(['It answers resources/list without initialize.'])
    expect(told(verdict, 'bare-call')).toEqual(['It answers tools/call without initialize.'])
    const call = host.seen.find(({ message }) => message['method'] === 'tools/call')
    expect(call?.message['params']).toEqual({ name: 'a', arguments: { x: 1 } })
  })

  test('a program is asked for them where they are named, in a process for each', async () => {
    const serena = [
      process.execPath,
      fileURLToPath(new URL('programs/nonconforming.ts', import.meta.url)),
      'offers prompts',
    ]
    const verdict = await probe(serena, { checks: ['bare-prompts'], timeoutMs: 60_000 })
    expect(told(verdict, 'bare-prompts')).toEqual(['It answers prompts/list without initialize.'])
    expect(told(await probe(serena, { timeoutMs: 60_000 }), 'bare-prompts')).toEqual([])
  })

  test('no tool is ever called that was not named', async () => {
    const hosts = await Promise.all([startSessionHost(), startSessionHost({ careless: true, news: [] })])
    await Promise.all(hosts.map((host) => all(host)))
    for (const host of hosts) expect(host.asked).not.toContain('tools/call')
  })

  test('what a stateful server says to them is told', async () => {
    const host = await startSessionHost({ capabilities: { tools: {}, prompts: {} } })
    const verdict = await all(host)
    expect(verdict.evidence.find(({ check }) => check === 'bare-prompts')).toMatchObject({ points: 'STATEFUL' })
  })
})

describe('a stream of no request', () => {
  test('is listened to, and what is asked on it is told; pings are allowed', async () => {
    const question = (method: string) => ({ jsonrpc: '2.0', id: method, method, params: {} })
    const host = await startSessionHost({
      news: [
        question('ping'),
        question('elicitation/create'),
        question('x\u001b[31m'),
        { jsonrpc: '2.0', method: 'n' },
      ],
    })
    const verdict = await all(host)
    expect(detailsOf(verdict, 'get-stream')).toEqual({ status: 200, messages: 4 })
    expect(told(verdict, 'unrelated-requests')).toEqual([
      'It sends requests of its own outside a request: elicitation/create, another method.',
    ])
  })

  test('is listened to as long as was said, also where that is longer than an answer may take', async () => {
    const host = await startHost(({ verb, message }, res) => {
      if (verb !== 'GET') return json(res, plainAnswer(message))
      events(res, [])
      res.write(': open\n\n')
      const timer = setTimeout(() => res.write('data: {}\n\n'), 1_500)
      return res.on('close', () => clearTimeout(timer))
    })
    const { evidence } = await probe(host.url, { timeoutMs: 1_000, listenMs: 2_000 })
    expect(evidence.find(({ check }) => check === 'get-stream')?.sentence).toBe(
      'GET opens a stream; in 2000 ms 1 message came on it.',
    )
  })

  test('that is silent asks nothing', async () => {
    const verdict = await all(await startSessionHost({ news: [] }))
    expect(told(verdict, 'unrelated-requests')).toEqual(['It sent no requests of its own outside a request.'])
  })
})

test('a stream that broke off is resumed elsewhere, or not', async () => {
  const known = new Set<string>()
  const [host, friend] = await Promise.all([
    startSessionHost({ known, streams: true }),
    startSessionHost({ known, streams: true, news: [] }),
  ])
  expect(told(await all(host), 'resume')[0]).toContain('not resumed on another connection: it answers HTTP 405')
  const resumed = await all(host, { replicas: [friend.url] })
  expect(told(resumed, 'resume')).toEqual([`A stream that broke off is resumed at ${friend.url}.`])
  const [asked] = friend.seen.filter(({ verb }) => verb === 'GET')
  expect(asked?.headers['last-event-id']).toBe('event-1')
})

describe('a server of the stateless revision', () => {
  async function listening(server: Server): Promise<string> {
    const { url } = await server.listen()
    onTestFinished(() => server.drain({ deadlineMs: 0 }))
    return url
  }

  const asking = (options = {}) =>
    createServer({ name: 'asks', version: '1', keys: newKey(), logger: quiet, ...options })
      .tool('ask', { description: 'Asks.' }, async (_, ctx) => {
        await ctx.ask('sure', { message: 'Sure?', schema: z.object({ sure: z.boolean() }) })
        return 'done'
      })
      .tool('plain', { description: 'Does not ask.' }, () => 'done')

  const ways = ({ evidence }: Verdict) =>
    Object.fromEntries(
      evidence
        .filter(({ check }) => check === 'request-state')
        .map(({ details }) => [details?.['way'], details?.['isRefused']]),
    )

  test('refuses a request state that was changed, is late or belongs to another; sealed ones can be repeated', async () => {
    let now = Date.now()
    const principal = ({ header }: { header: (name: string) => string | undefined }) => ({ id: header('x-user') ?? '' })
    const url = await listening(asking({ principal, ttlSeconds: 60, clock: () => now }))
    const verdict = await probe(url, {
      headers: { 'x-user': 'ann' },
      otherHeaders: { 'x-user': 'bob' },
      call: { name: 'ask' },
      // The server's clock goes faster.
      expireMs: 1,
      onExchange: ({ text }) => {
        if (text.includes('"id":25')) now += 61_000
      },
    })
    expect(ways(verdict)).toEqual({ changed: true, foreign: true, repeated: false, expired: true })
    expect(verdict).toMatchObject({ state: 'STATELESS', decidedBy: 'era' })
  })

  test('that takes any state is found out', async () => {
    const host = await startHost(({ message }, res) => {
      const { id, method, params } = message
      const asked = {
        resultType: 'input_required',
        requestState: 'plain',
        inputRequests: { r: { method: 'roots/list' } },
      }
      if (method === 'server/discover')
        return json(res, result(id, { supportedVersions: ['2026-07-28'], capabilities: {} }))
      if (method !== 'tools/call') return res.writeHead(405).end()
      return json(
        res,
        result(id, params.requestState === undefined ? asked : { content: [], roots: params.inputResponses }),
      )
    })
    expect(ways(await probe(host.url, { call: { name: 'x' } }))).toEqual({ changed: false, repeated: false })
    const retry = host.seen.find(({ message }) => message['params']?.requestState === 'plain')
    expect(retry?.message['params'].inputResponses).toEqual({ r: { roots: [] } })
  })

  test('whose tool asks nothing has no state to try', async () => {
    const url = await listening(asking())
    const verdict = await probe(url, { call: { name: 'plain' } })
    expect(told(verdict, 'request-state')[0]).toContain('asks for nothing with a state')
  })

  test('tells which tools keep handles or tasks, where their schemas say so', async () => {
    const tools = [
      {
        name: 'open',
        inputSchema: {},
        outputSchema: { properties: { basket_id: {} } },
        execution: { taskSupport: 'optional' },
      },
      { name: 'add', inputSchema: { required: ['basket_id'] } },
    ]
    const capabilities = { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const host = await startHost(({ message: { id, method } }, res) =>
      json(res, result(id, method === 'tools/list' ? { tools } : { supportedVersions: ['2026-07-28'], capabilities })),
    )
    const verdict = await probe(host.url)
    expect(told(verdict, 'tasks')).toEqual(['It declares tasks, by open: their state is kept under their ids.'])
    expect(told(verdict, 'handles')).toEqual(['open returns "basket_id", which add requires: state is kept under it.'])
  })

  test('that keeps sessions for older clients is told apart', async () => {
    const known = new Set<string>()
    const host = await startHost(({ verb, headers, message }, res) => {
      if (verb === 'DELETE') return res.writeHead(known.delete(String(headers['mcp-session-id'])) ? 204 : 404).end()
      if (verb !== 'POST') return res.writeHead(405).end()
      const { id, method } = message
      if (headers['mcp-protocol-version'] === '2026-07-28') {
        const versions = { supportedVersions: ['2026-07-28', '2025-11-25'], capabilities: { tools: {} } }
        return json(res, method === 'server/discover' ? result(id, versions) : plainAnswer(message))
      }
      if (method !== 'initialize') return json(res, error(null, -32000, 'Mcp-Session-Id header is required'), 400)
      known.add('s')
      return json(res, plainAnswer(message), 200, { 'mcp-session-id': 's' })
    })
    const verdict = await probe(host.url)
    expect(verdict).toMatchObject({ state: 'STATELESS', decidedBy: 'era', era: 'modern' })
    expect(detailsOf(verdict, 'older-era')).toEqual({ state: 'STATEFUL' })
    expect(known.size).toBe(0)
  })

  test('that says so and yet wants a session is shown to lie', async () => {
    const serverInfo = { name: 'liar', version: '1', architecture: 'stateless' }
    const about = {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
    }
    const host = await startHost(({ message: { id, method } }, res) =>
      method === 'server/discover' ? json(res, result(id, about)) : json(res, error(id, 1, 'No session'), 400),
    )
    const verdict = await probe(host.url)
    expect(verdict).toMatchObject({ state: 'STATEFUL', decidedBy: 'era', declared: { architecture: 'stateless' } })
    expect(detailsOf(verdict, 'declared')).toMatchObject({ holds: false })
  })
})

test('a server that answers in events, and goes on with its stream, is understood', async () => {
  const host = await startHost(({ verb, message }, res) => {
    if (verb !== 'POST') return res.writeHead(405).end()
    const ping = { jsonrpc: '2.0', id: 's1', method: 'ping' }
    return events(res, [{ jsonrpc: '2.0', method: 'notifications/message', params: {} }, ping, plainAnswer(message)])
  })
  expect(await probe(host.url)).toMatchObject({ state: 'STATELESS', decidedBy: 'sequential' })
})
