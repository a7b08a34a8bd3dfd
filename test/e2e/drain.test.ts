import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { json } from 'node:stream/consumers'
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
    await expect(third('quick')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await expect(second('quick')).rejects.toMatchObject({ code: 'ECONNREFUSED' })

    letGo()
    expect((await slow).text).toBe('slow')
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
