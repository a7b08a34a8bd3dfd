/** One caller does not crowd out another: attacks by one address, in as many sessions as it likes. */
import { createServer, type ServerOptions, type Server } from 'pannier/server'
import { memoryLedger } from 'pannier/state'
import { expect, onTestFinished, test } from 'vitest'
import { amount } from '../amount.ts'
import { envelope, VERSION } from '../fixtures/modernClient.ts'
import { quiet } from './fixtures/instances.ts'
import type { MessageStream } from './fixtures/messageStream.ts'
import { RawSession } from './fixtures/rawSession.ts'

const asking = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }
const form = { message: 'Who are you?', schema: { type: 'object', properties: { name: { type: 'string' } } } } as const
/** For the long form on a machine that has more to do. */
const PATIENT_MS = 600_000
const ann = { action: 'accept', content: { name: 'Ann' } }

function payments(options: Partial<ServerOptions> = {}): { server: Server; paid: string[]; cancelled: string[] } {
  const paid: string[] = []
  const cancelled: string[] = []
  const limits = {
    clientAddress: ({ header }: { header: (name: string) => string | undefined }) => header('x-real-ip'),
  }
  const server = createServer({ name: 'crowd', version: '1', logger: quiet, limits, ...options })
  onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
  server.tool('greet', { description: 'Asks.' }, async (_, ctx) => {
    await ctx.ask('name', form)
    return 'Hello'
  })
  server.tool('pay', { description: 'Pays.' }, async (_, ctx) => {
    await ctx.once('pay', () => paid.push('paid'))
    return 'paid'
  })
  server.tool('report', { description: 'Says what it does.' }, async (_, ctx) => {
    ctx.progress(1, 2)
    return 'done'
  })
  server.tool('wait', { description: 'Goes on until it is cancelled.' }, async (_, ctx) => {
    ctx.progress(1, 2)
    await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
    cancelled.push('wait')
    return 'over'
  })
  return { server, paid, cancelled }
}

const from = (address: string) => ({ 'x-real-ip': address })
const session = (url: string, address: string) =>
  RawSession.begin(url, { capabilities: { elicitation: {} }, headers: from(address) })

test.each([
  ['one session with twenty connections', 1],
  ['twenty sessions with one connection each', 20],
])('%s does not keep others from being asked', async (_, sessions) => {
  const { url } = await payments().server.listen({ drainOnTerm: false })
  const greedy = await Promise.all(Array.from({ length: sessions }, () => session(url, '192.0.2.1')))
  const junk = 'x'.repeat(3_600_000)
  const held: MessageStream[] = []
  for (let index = 0; index < 20; index++) {
    const one = greedy[index % sessions] as RawSession
    const stream = await one.call('greet', { junk })
    held.push(stream)
    await stream.next() // its question, or that it was refused
  }
  const other = await session(url, '192.0.2.2')
  const stream = await other.call('greet')
  const question = await stream.next()
  expect(question).toMatchObject({ method: 'elicitation/create' })
  await other.answer(question, ann)
  expect(await stream.rest()).toMatchObject([{ result: { content: [{ text: 'Hello' }] } }])
  for (const one of held) one.close()
})

test('a caller with too many questions is refused without a word in the log of errors', async () => {
  const errors: unknown[] = []
  const logger = { ...quiet, error: (_: object, message: string) => void errors.push(message) }
  const greedy = await direct(payments({ logger }).server, '192.0.2.1', '2025-03-26')
  const held = await greedy.batch('greet', 100)
  const refused = await (await greedy.batch('greet', 10)).text()
  expect(refused.match(/Too many calls wait/g)).toHaveLength(10)
  expect(errors).toEqual([])
  await held.body?.cancel()
})

/** A session-era client without sockets, for very many requests. */
async function direct(server: Server, address: string, version: string) {
  let id = 0
  let headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...from(address),
  }
  const send = (message: object, signal?: AbortSignal): Promise<Response> =>
    server.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers,
        body: JSON.stringify(Array.isArray(message) ? message : { jsonrpc: '2.0', ...message }),
        ...(signal && { signal }),
      }),
    )
  const begin = async (): Promise<void> => {
    const params = { protocolVersion: version, capabilities: asking, clientInfo: { name: 'raw', version: '1' } }
    const { 'mcp-session-id': _, ...bare } = headers
    headers = bare
    const begun = await send({ id: id++, method: 'initialize', params })
    headers = { ...bare, 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': version }
  }
  await begin()
  const call = (name: string, _meta: object = {}, signal?: AbortSignal): Promise<Response> =>
    send({ id: id++, method: 'tools/call', params: { name, arguments: {}, _meta } }, signal)
  /** As many calls as a batch may have; each has a stream of its own. */
  const batch = (name: string, size: number): Promise<Response> =>
    send(
      Array.from({ length: size }, () => {
        const params = { name, arguments: {}, _meta: { progressToken: id } }
        return { jsonrpc: '2.0', id: id++, method: 'tools/call', params }
      }),
    )
  const cancel = (): Promise<Response> => send({ method: 'notifications/cancelled', params: { requestId: id - 1 } })
  return { begin, call, batch, cancel }
}

test('very many short streams in many sessions do not cancel the running call of another', async () => {
  const { server, cancelled } = payments()
  const other = await direct(server, '192.0.2.2', '2025-11-25')
  const lost = new AbortController()
  const running = await other.call('wait', { progressToken: 1 }, lost.signal)
  const reader = running.body?.getReader()
  await reader?.read()
  lost.abort()
  const greedy = await direct(server, '192.0.2.1', '2025-03-26')
  for (let count = 0; count < 10_500; count += 100) {
    await greedy.begin()
    expect((await (await greedy.batch('report', 100)).text()).match(/"done"/g)?.length).toBe(100)
  }
  expect(cancelled).toEqual([])
  await other.cancel()
  await expect.poll(() => cancelled).toEqual(['wait'])
})

test('very many calls that were asked and cancelled do not fill the ledger for others', {
  timeout: PATIENT_MS,
}, async () => {
  const room = amount(200, 20_000)
  const { server, paid } = payments({ ledger: memoryLedger({ maxEntries: room }) })
  const greedy = await direct(server, '192.0.2.1', '2025-11-25')
  for (let count = 0; count < room + 10; count++) {
    if (count % 5 === 0) await greedy.begin()
    const response = await greedy.call('greet')
    await greedy.cancel()
    await response.body?.cancel()
  }
  const other = await direct(server, '192.0.2.2', '2025-11-25')
  await (await other.call('pay')).text()
  expect(paid).toEqual(['paid'])
})

test('very many payments of one address do not fill the ledger for others, without sessions', {
  timeout: PATIENT_MS,
}, async () => {
  const room = amount(200, 20_000)
  const { server, paid } = payments({ ledger: memoryLedger({ maxEntries: room }) })
  const pay = async (address: string): Promise<string> => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': 'pay',
      ...from(address),
    }
    const params = { name: 'pay', arguments: {}, _meta: envelope() }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    return (await server.fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body }))).text()
  }
  for (let count = 0; count < room + 10; count++) await pay('192.0.2.1')
  expect(paid.length).toBe(room / 2)
  expect(await pay('192.0.2.2')).toContain('paid')
  expect(paid.length).toBe(room / 2 + 1)
})
