/** Streams where no instance stays: GET streams are refused, others have a longest life, and instances wait for calls. */
import { createServer as createModernServer } from 'pannier/modern'
import { createServer, type Listening, type Server, type ServerOptions } from 'pannier/server'
import { afterEach, describe, expect, test } from 'vitest'
import { Caller } from '../docs/fixtures/caller.ts'
import { Session } from '../docs/fixtures/sessionClient.ts'
import { open } from '../fixtures/modernClient.ts'

let listening: Listening | undefined
afterEach(() => listening?.close())

const make = (options: Partial<ServerOptions>): Server =>
  createServer({ name: 'brief', version: '1.0.0', ...options }).resource('brief://text', { name: 'text' }, () => 'text')

async function serve(options: Partial<ServerOptions>): Promise<string> {
  listening = await make(options).listen({ drainOnTerm: false })
  return listening.url
}

const LISTEN = {
  method: 'subscriptions/listen',
  params: { notifications: { resourceSubscriptions: ['brief://text'] } },
}

describe('with a longest life of streams', () => {
  test('a subscription ends with its result', async () => {
    const response = await open(await serve({ maxStreamSeconds: 0.05 }), LISTEN)
    const text = await response.text()
    expect(text).toMatch(/acknowledged[^]*notifications\/cancelled[^]*"resultType":"complete"/)
  })

  test('the same without sessions', async () => {
    const server = createModernServer({ name: 'brief', version: '1.0.0', maxStreamSeconds: 0.05 })
    server.resource('brief://text', { name: 'text' }, () => 'text')
    listening = await server.listen({ drainOnTerm: false })
    expect(await (await open(listening.url, LISTEN)).text()).toContain('"resultType":"complete"')
  })

  test('a GET stream ends, and brings what was missed when its client comes back', async () => {
    const server = make({ maxStreamSeconds: 0.05 })
    listening = await server.listen({ drainOnTerm: false })
    const session = await Session.begin(listening.url, {})
    await session.request('resources/subscribe', { uri: 'brief://text' })
    const lastId = await (await session.standalone()).ended()
    server.updated('brief://text')
    const { message } = await (await session.resume(lastId)).next()
    expect(message['method']).toBe('notifications/resources/updated')
  })

  test.each([0, -1, NaN])('%d seconds are none', (maxStreamSeconds) => {
    expect(() => make({ maxStreamSeconds })).toThrow(/maxStreamSeconds/)
  })
})

test('without GET streams a session-era client is answered with 405, and still called', async () => {
  const url = await serve({ getStream: false })
  const session = await Session.begin(url, {})
  expect(await session.status()).toBe(405)
  expect((await session.request('resources/list', {})).result['resources']).toHaveLength(1)
})

describe('an instance waits for a call', () => {
  test.each([
    ['as the second argument', (runtime: object) => [runtime]],
    ['as the third, as Workers have it', (runtime: object) => [{ waitUntil: 'a variable' }, runtime]],
  ] as const)('with the runtime %s, also when its client has left', async (_, argumentsOf) => {
    const server = createServer({ name: 'brief', version: '1.0.0' })
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    server.tool('work', { description: 'Works on.' }, async () => {
      begin()
      await finished
      return 'done'
    })
    const leave = new AbortController()
    const waited: Promise<unknown>[] = []
    const runtime = { waitUntil: (work: Promise<unknown>) => void waited.push(work) }
    const response = server.fetch(await requestFor('work', leave.signal), ...(argumentsOf(runtime) as [object]))
    await begun
    leave.abort()
    let isOver = false
    const [work] = waited
    const over = work?.then(() => (isOver = true))
    await Promise.resolve()
    expect([waited.length, isOver]).toEqual([1, false])
    finish()
    await Promise.all([over, response])
    expect(isOver).toBe(true)
  })
})

/** The request that a client of the stateless revision sends. */
function requestFor(name: string, signal: AbortSignal): Promise<Request> {
  const { promise, resolve } = Promise.withResolvers<Request>()
  void new Caller(async (request) => {
    resolve(new Request(request, { signal }))
    return new Response('{}')
  })
    .round(name)
    .catch(() => undefined)
  return promise
}
