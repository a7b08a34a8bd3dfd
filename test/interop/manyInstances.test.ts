/** The v1 client where its requests go to instances in turn, and where its connections break. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { localBus } from 'pannier/server'
import { memoryLedger } from 'pannier/state'
import { afterEach, expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { type Instance, startHere } from './fixtures/instances.ts'
import { open } from '../fixtures/modernClient.ts'
import { MessageStream } from './fixtures/messageStream.ts'
import { README } from './fixtures/tools.ts'
import { RawSession } from './fixtures/rawSession.ts'

const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function start(count: number, options: Parameters<typeof startHere>[0] = {}): Promise<Instance[]> {
  const instances = await Promise.all(Array.from({ length: count }, () => startHere(options)))
  closers.push(...instances.map(({ close }) => close))
  return instances
}

async function connect(url: string, fetching: typeof fetch): Promise<Client> {
  const client = new Client({ name: 'v1', version: '1' }, { capabilities: { elicitation: {} } })
  const reconnectionOptions = {
    initialReconnectionDelay: 1,
    maxReconnectionDelay: 1,
    reconnectionDelayGrowFactor: 1,
    maxRetries: 3,
  }
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: fetching, reconnectionOptions })
  await client.connect(transport)
  closers.push(() => client.close())
  return client
}

/** Sends each request to the next instance. */
function inTurn(instances: readonly Instance[]): typeof fetch {
  let turn = 0
  return (_, init) => fetch(instances[turn++ % instances.length]!.url, init)
}

test('any of two instances serves any request of a session', async () => {
  const instances = await start(2)
  const client = await connect(instances[0]!.url, inTurn(instances))
  for (const word of ['a', 'b', 'c', 'd', 'e']) {
    expect(await client.callTool({ name: 'echo', arguments: { text: word } })).toMatchObject(text(word))
  }
})

test('with a bus between them, an answer finds the instance that asked, and a watched resource is heard of', async () => {
  const instances = await start(2, { bus: localBus() })
  const client = await connect(instances[0]!.url, inTurn(instances))
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ann' } }))
  for (let turn = 0; turn < 3; turn++) {
    expect(await client.callTool({ name: 'greet' })).toMatchObject(text('Hello Ann'))
  }
  const updated = new Promise((resolve) => {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri))
  })
  await client.subscribeResource({ uri: README })
  instances[1]!.server.updated(README)
  expect(await updated).toBe(README)
})

test('a changed list is heard of at another instance without a bus, by clients of both eras', async () => {
  const one = await startHere()
  const two = await startHere({ peers: [one.url] })
  closers.push(one.close, two.close)
  const session = await RawSession.begin(two.url)
  const news = await session.listen()
  const abort = new AbortController()
  const params = { notifications: { toolsListChanged: true } }
  const stream = await open(two.url, { method: 'subscriptions/listen', params, signal: abort.signal })
  closers.push(() => abort.abort())
  const subscription = new MessageStream(stream, abort)
  expect(await subscription.next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' })
  one.server.tool('late', { description: 'Comes late.' }, () => 'x')
  expect(await news.next()).toMatchObject({ method: 'notifications/tools/list_changed' })
  expect(await subscription.next()).toMatchObject({ method: 'notifications/tools/list_changed' })
  news.close()
})

proves('ST-11', 'an answer that goes to the instance that asked is not also gone on with where it came', async () => {
  const [one, two] = (await start(2, { bus: localBus(), ledger: memoryLedger() })) as [Instance, Instance]
  const capabilities = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }
  const session = await RawSession.begin(one.url, { capabilities })
  const call = await session.call('update_work_item', { workItemId: 4522, fields: {} })
  for (const content of [{ resolution: 'Duplicate' }, { duplicateOfId: 4301 }]) {
    const question = await call.next()
    session.url = two.url
    await session.answer(question, { action: 'accept', content }, { state: question.state })
  }
  expect(await call.rest()).toMatchObject([
    { result: { content: [{ text: expect.stringContaining('Duplicate of Bug #4301') }] } },
  ])
  expect(await session.request('tools/call', { name: 'links' })).toMatchObject({ result: text('0 links') })
})

test('a client whose connection breaks in the middle of a call gets the rest', async () => {
  const [instance] = await start(1)
  let cut = false
  const breaking: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    if (cut || init?.method !== 'POST' || !isStream || response.body === null) return response
    cut = true
    return new Response(cutAfterFirst(response.body), { headers: response.headers })
  }
  const client = await connect(instance!.url, breaking)
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ann' } }))
  expect(await client.callTool({ name: 'greet' })).toMatchObject(text('Hello Ann'))
  expect(cut).toBe(true)
})

test('a client that was let go comes back for the result', async () => {
  const [instance] = await start(1)
  const client = await connect(instance!.url, fetch)
  const called = client.callTool({ name: 'break_off' })
  await client.callTool({ name: 'heard' })
  expect(await called).toMatchObject(text('after the break'))
})

test('a client does not come back forever to a call it has cancelled', async () => {
  const [instance] = await start(1)
  const statuses: number[] = []
  let stop: ((value: unknown) => void) | undefined
  const stopped = new Promise((resolve) => (stop = resolve))
  const watching: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    const resumes = new Headers(init?.headers).has('last-event-id')
    if (resumes) statuses.push(response.status)
    if (resumes && response.status === 405) stop?.(undefined)
    return response
  }
  const client = await connect(instance!.url, watching)
  const abort = new AbortController()
  const options = { signal: abort.signal, onprogress: () => abort.abort() }
  await expect(client.callTool({ name: 'hold' }, undefined, options)).rejects.toThrow()
  await stopped
  expect(statuses).toEqual([405])
})

/** The first chunk, then a broken connection. */
function cutAfterFirst(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let passed = false
  return new ReadableStream({
    async pull(controller) {
      const { value } = await reader.read()
      if (!passed && value !== undefined) controller.enqueue(value)
      else {
        await reader.cancel()
        controller.error(new Error('cut'))
      }
      passed = true
    },
  })
}
