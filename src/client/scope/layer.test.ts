import { expect, test } from 'vitest'
import { Above, FakeTransport, type Loose, settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { proves } from '../../../test/proves.ts'
import type { ClientError } from '../errors.ts'
import { type Refused, scope } from './layer.ts'
import { scopeFetch } from './fetch.ts'

const asks = ['elicitation/create', 'sampling/createMessage', 'roots/list', 'custom/method']

function layered(onRefused?: (refused: Refused) => void) {
  const wire = new FakeTransport()
  return { wire, above: new Above(scope(onRefused && { onRefused })(wire)) }
}

proves(
  'RA-13',
  'a server request outside any request of the client is refused with -32602, and the host hears why',
  () => {
    const refused: Refused[] = []
    const { wire, above } = layered((each) => void refused.push(each))
    for (const method of asks) wire.say({ id: method, method })
    expect(wire.sent).toMatchObject(asks.map((id) => ({ id, error: { code: -32602 } })))
    expect(refused).toEqual(
      asks.map((id) => ({ id, method: id, reason: 'No request of the client was under way that it could belong to.' })),
    )
    expect(above.heard).toEqual([])
  },
)

proves(
  'RA-13',
  'a server request inside a request of the client passes, until that is answered or cancelled',
  async () => {
    const { wire, above } = layered()
    const ask = (id: string) => wire.say({ id, method: 'roots/list' })
    await above.send({ id: 1, method: 'tools/call' })
    ask('inside')
    wire.say({ id: 1, result: {} })
    ask('after the answer')
    await above.send({ id: 2, method: 'tools/call' })
    ask('inside again')
    await above.send({ method: 'notifications/cancelled', params: { requestId: 2 } })
    ask('after the cancellation')
    expect(above.heard.map(({ id }) => id)).toEqual(['inside', 1, 'inside again'])
    expect(above.faults.map((fault) => (fault as ClientError).code)).toEqual(['REQUEST_UNRELATED', 'REQUEST_UNRELATED'])
  },
)

test('an answer under another spelling of the id ends its request, too', async () => {
  const { wire, above } = layered()
  await above.send({ id: 7, method: 'tools/call' })
  wire.say({ id: '07', result: {} })
  wire.say({ id: 'late', method: 'roots/list' })
  expect(above.heard.map(({ id }) => id)).toEqual(['07'])
})

test('a ping, an answer and a notification always pass', () => {
  const { wire, above } = layered()
  const messages = [{ id: 'p', method: 'ping' }, { id: 9, result: {} }, { method: 'notifications/message' }]
  for (const message of messages) wire.say(message)
  expect(above.heard).toEqual(messages.map((message) => ({ jsonrpc: '2.0', ...message })))
})

test('a request that could not be sent, and initialize, let nothing in', async () => {
  const { wire, above } = layered()
  await above.send({ id: 0, method: 'initialize' })
  wire.react = (message) => {
    if (message.method === 'tools/call') throw new Error('down')
  }
  await expect(above.send({ id: 1, method: 'tools/call' })).rejects.toThrow('down')
  wire.say({ id: 'a', method: 'roots/list' })
  expect(above.heard).toEqual([])
})

test('in the stateless revision a server request is reported and not answered', async () => {
  const { wire, above } = layered()
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  await above.send({ id: 1, method: 'tools/call', params: { _meta } })
  wire.say({ id: 'a', method: 'roots/list' })
  expect(wire.sent).toHaveLength(1)
  expect(above.faults).toHaveLength(1)
})

proves(
  'RA-13',
  'a request on the stream of no request is refused below the transport, also when the stream comes back',
  async () => {
    const posted: Loose[] = []
    const refused: Refused[] = []
    const stream = (...events: object[]) =>
      new Response(
        events
          .map((event, index) => `id: ${JSON.stringify(event).length}-${index}\ndata: ${JSON.stringify(event)}\n\n`)
          .join(''),
        {
          headers: { 'content-type': 'text/event-stream' },
        },
      )
    let next = stream()
    const seam = scopeFetch(
      async (_, init) => {
        if (init?.method !== 'POST') return next
        posted.push([JSON.parse(init.body as string), new Headers(init.headers)])
        return new Response(null, { status: 202 })
      },
      { onRefused: (each) => void refused.push(each) },
    )
    const get = async (headers: Record<string, string>, ...events: object[]) => {
      next = stream(...events)
      return (await seam('https://a.example/mcp', { method: 'GET', headers })).text()
    }
    const session = { 'mcp-session-id': 's', authorization: 'Bearer t' }
    const ask = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: {} }
    const ping = { jsonrpc: '2.0', id: 'p', method: 'ping' }
    const news = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }

    const text = await get(session, ask, ping, news)
    expect(text).not.toContain('elicitation')
    expect(text).toContain('"ping"')
    expect(text).toContain('list_changed')
    const lastEventId = /id: (\S+)\ndata: [^\n]*list_changed/.exec(text)?.[1]
    expect(await get({ ...session, 'last-event-id': lastEventId! }, ask)).not.toContain('elicitation')
    expect(await get({ ...session, 'last-event-id': 'of a call' }, ask)).toContain('elicitation')
    await settled()
    expect(refused).toHaveLength(2)
    expect(posted.map(([body]) => body)).toMatchObject([
      { id: 'q', error: { code: -32602 } },
      { id: 'q', error: { code: -32602 } },
    ])
    const headers: Headers = posted[1][1]
    expect([headers.get('mcp-session-id'), headers.get('authorization'), headers.get('last-event-id')]).toEqual([
      's',
      'Bearer t',
      null,
    ])
  },
)
