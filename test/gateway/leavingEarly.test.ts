/** Callers who leave before their call has reached its server, and callers without a name who must not be taken for each other. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { call, type ClientKind, CLIENTS, connectClient, startGateway } from './fixtures/gateways.ts'
import { event, json, said, type ScriptedRequest, sessionScript, stream } from './fixtures/sessionScript.ts'
import { ask, statelessRequest } from './fixtures/statelessRequest.ts'

const ASKED = { elicitation: {} }
const meta = (capabilities: object) => ({ 'io.modelcontextprotocol/clientCapabilities': capabilities })
const tool = (name: string, more: object = {}) => ({ params: { name, arguments: {} }, ...more })

/** A server whose next session begins only when the test lets it. */
async function slowToBegin() {
  const begun = Promise.withResolvers<void>()
  let isSlow = false
  const server = await sessionScript({
    async first({ message }) {
      if (message.method === 'initialize' && isSlow) await begun.promise
    },
  })
  const { url } = await startGateway({ a: { url: server.url, pannier: { state: 'stateful' } } })
  const before = server.of('POST', 'initialize').length
  isSlow = true
  const isBeginning = () => vi.waitFor(() => expect(server.of('POST', 'initialize').length).toBeGreaterThan(before))
  return { server, url, isBeginning, begin: begun.resolve }
}

test.each<ClientKind>([...CLIENTS])(
  'a call that its client %s cancels while a session is begun for it is not sent',
  async (kind) => {
    const { server, url, isBeginning, begin } = await slowToBegin()
    const client = await connectClient(kind, url)
    const left = new AbortController()
    const waiting = call(client, 'a_go', {}, { signal: left.signal })
    await isBeginning()
    left.abort()
    await expect(waiting).rejects.toThrow()
    begin()
    expect(await call(client, 'a_go')).toBe('went')
    expect(server.of('POST', 'tools/call')).toHaveLength(1)
    expect(server.of('POST', 'notifications/cancelled')).toHaveLength(0)
  },
)

test('a call of somebody without a name is answered by nobody else: not by a question, nor by a log message', async () => {
  const held: { request: ScriptedRequest; res: ReturnType<typeof stream> }[] = []
  const server = await sessionScript({
    tools: () => ['wait', 'remove'],
    call: (request, res) => {
      const { id, params } = request.message
      if (params?.name === 'wait') return void held.push({ request, res: stream(res) })
      const question = {
        method: 'elicitation/create',
        params: { message: 'Remove?', requestedSchema: { type: 'object', properties: {} } },
      }
      const log = { method: 'notifications/message', params: { level: 'info', data: 'a secret of Bob' } }
      stream(res, event(log) + event({ id: 'q', ...question }))
      void vi
        .waitFor(() => expect(server.of('POST').some(({ message }) => message.id === 'q')).toBe(true))
        .then(() =>
          res.end(
            event({ id, result: said(JSON.stringify(server.seen.find(({ message }) => message.id === 'q')?.message)) }),
          ),
        )
    },
  })
  const { url } = await startGateway(
    { a: { url: server.url, pannier: { state: 'stateful' } } },
    {},
    { gateway: { limits: { clientAddressHeader: 'x-real-ip' } } },
  )
  const from = (address: string, name: string, capabilities: object) =>
    fetch(
      url,
      statelessRequest(
        tool(name, {
          headers: { 'x-real-ip': address },
          meta: { ...meta(capabilities), 'io.modelcontextprotocol/logLevel': 'debug' },
        }),
      ),
    )
  const alice = from('192.0.2.1', 'a_wait', ASKED).then((response) => response.text())
  await vi.waitFor(() => expect(held).toHaveLength(1))
  const bob = await (await from('192.0.2.2', 'a_remove', {})).text()
  expect(bob).toContain('Nobody can be asked')
  for (const { request, res } of held) res.end(event({ id: request.message.id, result: said('waited') }))
  const heard = await alice
  expect(heard).toContain('waited')
  expect(heard).not.toContain('Bob')
  expect(heard).not.toContain('Remove?')
})

test('what a server asks after its caller has left does not reach the next one without a name', async () => {
  const begun: string[] = []
  const server = await sessionScript({
    call: (request, res) => {
      begun.push(String(request.headers['mcp-session-id']))
      if (begun.length === 1) return void stream(res)
      json(res, request, said('went'))
    },
  })
  const { url } = await startGateway({ a: { url: server.url, pannier: { state: 'stateful' } } })
  const left = new AbortController()
  const request = statelessRequest(tool('a_go', { meta: meta({}) }))
  const waiting = fetch(url, { ...request, signal: left.signal })
  await vi.waitFor(() => expect(begun).toHaveLength(1))
  left.abort()
  await expect(waiting).rejects.toThrow()
  await vi.waitFor(() => expect(server.of('POST', 'notifications/cancelled')).toHaveLength(1))
  await ask(url, tool('a_go', { meta: meta(ASKED) }))
  expect(begun).toHaveLength(2)
  expect(begun[1]).not.toBe(begun[0])
})

test('waiting calls of one address without a name leave room for those of another', async () => {
  const server = await sessionScript({
    call: (request, res) => {
      const question = {
        method: 'elicitation/create',
        params: { message: 'Go?', requestedSchema: { type: 'object', properties: {} } },
      }
      stream(res, event({ id: `q${String(request.message.id)}`, ...question }))
    },
  })
  const { url } = await startGateway(
    { a: { url: server.url, pannier: { state: 'stateful', maxSessions: 300, maxInFlight: 600 } } },
    {},
    { gateway: { limits: { clientAddressHeader: 'x-real-ip' } } },
  )
  const from = (address: string) => ask(url, tool('a_go', { headers: { 'x-real-ip': address }, meta: meta(ASKED) }))
  const waits = await Promise.all(Array.from({ length: 100 }, () => from('192.0.2.1')))
  expect(new Set(waits.map(({ result }) => result?.['resultType']))).toEqual(new Set(['input_required']))
  expect((await from('192.0.2.1')).error?.data).toMatchObject({ code: 'BACKEND_BUSY' })
  expect((await from('192.0.2.2')).result?.['resultType']).toBe('input_required')
})

test('a client of the session era that never answers does not keep its server for longer than parkSeconds', async () => {
  const answers: unknown[] = []
  const server = await sessionScript({
    first: ({ message }) => {
      if (message.id === 'q') answers.push(message)
    },
    call: (request, res) => {
      const requestedSchema = { type: 'object', properties: {} }
      stream(res, event({ id: 'q', method: 'elicitation/create', params: { message: 'Go?', requestedSchema } }))
      void vi
        .waitFor(() => expect(answers).toHaveLength(1), { timeout: 10_000 })
        .then(() => res.end(event({ id: request.message.id, result: said('went on') })))
    },
  })
  const { url } = await startGateway({ a: { url: server.url, pannier: { state: 'stateful', parkSeconds: 1 } } })
  const options = { capabilities: ASKED, versionNegotiation: { mode: 'legacy' } } as const
  const silent = new Client({ name: 'silent', version: '1' }, options)
  silent.setRequestHandler('elicitation/create', () => new Promise(() => {}))
  await silent.connect(new StreamableHTTPClientTransport(new URL(url)))
  onTestFinished(() => silent.close())
  expect(await silent.callTool({ name: 'a_go', arguments: {} })).toMatchObject(said('went on'))
  expect(answers).toMatchObject([{ error: { message: 'The question was not answered within 1 seconds.' } }])
})
