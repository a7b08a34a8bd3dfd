import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { json, text } from 'node:stream/consumers'
import { createServer, type Server } from 'pannier/server'
import { expect, onTestFinished, test } from 'vitest'
import { type AnswerMessage, headersOf, type RequestMessage, withEnvelope } from '../../examples/work-items/wire.ts'
import { proves } from '../proves.ts'

interface Answered {
  readonly headers: IncomingHttpHeaders
  readonly text: string | undefined
}

/** One connection that is kept open between calls. */
function connection(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  return (tool: string): Promise<Answered> =>
    new Promise((resolve, reject) => {
      const message: RequestMessage = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool } }
      const sent = request(url, { agent, method: 'POST', headers: headersOf(message) }, (response) => {
        json(response).then((body) => {
          const { result } = body as AnswerMessage
          resolve({ headers: response.headers, text: result?.content?.[0]?.text })
        }, reject)
      })
      sent.on('error', reject)
      sent.end(JSON.stringify(withEnvelope(message)))
    })
}

/** A server with a tool that answers at once and one that waits until it is let go. */
function setUp(): { server: Server; held: Promise<void>; letGo: () => void } {
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const server = createServer({ name: 'drain', version: '1.0.0', logger: silent })
  const held = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  server.tool('quick', { description: 'Answers.' }, () => 'quick')
  server.tool('slow', { description: 'Waits.' }, async () => {
    held.resolve()
    await go.promise
    return 'slow'
  })
  return { server, held: held.promise, letGo: go.resolve }
}

/** New connections are served until the listener is closed; then one fails. */
async function failureOf(send: ReturnType<typeof connection>): Promise<unknown> {
  for (;;) {
    try {
      await send('quick')
    } catch (error) {
      return error
    }
  }
}

/** A call of a tool as the bytes of a request. */
function bytesOf(url: string, tool: string): string {
  const message: RequestMessage = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool } }
  const body = JSON.stringify(withEnvelope(message))
  const headers = { host: new URL(url).host, 'content-length': String(body.length), ...headersOf(message) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return ['POST /mcp HTTP/1.1', ...lines, '', body].join('\r\n')
}

function connectTo(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  return socket
}

proves(
  'MRTR-13',
  'while an instance drains, a connection that is open is served once more and told to go',
  async () => {
    const { server, held, letGo } = setUp()
    const { url } = await server.listen()
    const [first, second, third] = [connection(url), connection(url), connection(url)]
    expect((await second('quick')).headers.connection).toBe('keep-alive')
    const slow = first('slow')
    await held

    const drained = server.drain()
    const late = await second('quick')
    expect(late).toMatchObject({ text: 'quick', headers: { connection: 'close' } })
    expect(await failureOf(third)).toMatchObject({ code: 'ECONNREFUSED' })
    expect(await failureOf(second)).toMatchObject({ code: 'ECONNREFUSED' })

    letGo()
    expect(await slow).toMatchObject({ text: 'slow', headers: { connection: 'close' } })
    await drained
    expect(server.inFlight).toBe(0)
  },
)

test('a listener that is closed waits for the call under way and not for the idle connections', async () => {
  const { server, held, letGo } = setUp()
  const listening = await server.listen()
  const [first, second] = [connection(listening.url), connection(listening.url)]
  await second('quick')
  const slow = first('slow')
  await held
  const closed = listening.close()
  letGo()
  expect((await slow).text).toBe('slow')
  await closed
})

test('connections that wait to be accepted when a server begins to drain are served', async () => {
  const { server } = setUp()
  const { url } = await server.listen()
  const waiting = Array.from({ length: 40 }, () => {
    const socket = connectTo(url)
    socket.write(bytesOf(url, 'quick'))
    return text(socket)
  })
  await new Promise<void>((resolve) => process.nextTick(resolve)) // Node connects in this tick, and accepts later
  const drained = server.drain()
  for (const answer of await Promise.all(waiting)) expect(answer).toMatch(/^HTTP\/1.1 200.*connection: close.*quick/is)
  await drained
})

test('a request that was sent on an idle connection before the listener closes is answered', async () => {
  const { server } = setUp()
  const listening = await server.listen()
  const socket = connectTo(listening.url)
  socket.write(bytesOf(listening.url, 'quick'))
  await once(socket, 'data')
  socket.write(bytesOf(listening.url, 'quick')) // the system has it when this returns; the server has not read it
  const closed = listening.close()
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200.*connection: close.*quick/is)
  await closed
})

test('a connection without a request stays open for the idle time of a drain', async () => {
  const [patient, usual] = [setUp().server, setUp().server]
  const [{ url }, { url: other }] = await Promise.all([patient.listen(), usual.listen()])
  const [late, silent] = [connectTo(url), connectTo(other)]
  await Promise.all([once(late, 'connect'), once(silent, 'connect')])
  const drained = Promise.all([patient.drain({ idleMs: 10_000 }), usual.drain()])
  await once(silent.resume(), 'close')
  late.write(bytesOf(url, 'quick'))
  expect(await text(late)).toMatch(/^HTTP\/1.1 200.*connection: close.*quick/is)
  await drained
})

test('a client that reads slowly gets its whole answer when the listener closes', async () => {
  const { server } = setUp()
  const size = 15_000_000 // more than sockets buffer
  server.tool('large', { description: 'Says much.' }, () => 'x'.repeat(size))
  const listening = await server.listen()
  const { url } = listening
  const idle = connectTo(url)
  idle.write(bytesOf(url, 'quick'))
  await once(idle, 'data')
  const slow = connectTo(url)
  slow.write(bytesOf(url, 'large'))
  await once(slow, 'readable')
  const closed = listening.close()
  await once(idle.resume(), 'close') // idle connections are closed; this one is not idle
  expect((await text(slow)).length).toBeGreaterThan(size)
  await closed
})
