/** What a runtime must do, over loopback: the rows of docs/reference/runtimes.md. A check that fails throws. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { accept, Caller, type Door } from '../docs/fixtures/caller.ts'
import { Session } from '../docs/fixtures/sessionClient.ts'
import { open } from '../fixtures/modernClient.ts'
import { within } from './within.ts'

export interface Checked {
  /** The address of a path: of the runtime that is checked. */
  readonly url: (path?: string) => string
  /** The same of the other runtimes that are served. */
  readonly others: readonly ((path?: string) => string)[]
  /** A token for the caller "ann". */
  readonly token: string
}

type Check = (runtime: Checked) => Promise<void>

const GUESTS = { people: accept({ people: 4 }), sure: accept({ sure: true }) }
const BOOKED = 'table 6 for 4 on Friday'

const at = (url: string, more: object = {}): Caller => new Caller(fetch, { url, ...more })
const failed = (status: number, expected: number): void => assert.equal(status, expected)

/** Each request goes to the next of these addresses. */
function across(...urls: readonly string[]): Caller {
  const doors = urls.map(
    (url): Door =>
      async (request) =>
        fetch(url, { method: 'POST', headers: request.headers, body: await request.text() }),
  )
  return new Caller(doors)
}

async function bookAcross(...urls: readonly string[]): Promise<void> {
  const { text, asked } = await across(...urls).call('book', { day: 'Friday' }, GUESTS)
  assert.deepEqual([text, asked], [BOOKED, [['people'], ['sure']]])
}

async function errorOf(caller: Caller, method: string, params: Record<string, unknown>): Promise<number | undefined> {
  return (await caller.send(method, params)).error?.code
}

export const CHECKS: Readonly<Record<string, Check>> = {
  'tools are listed, with their schemas': async ({ url }) => {
    const { result } = await at(url()).send('tools/list')
    const tools = result['tools'] as { name: string; inputSchema: { required?: string[] } }[]
    assert.deepEqual(tools.find(({ name }) => name === 'pack')?.inputSchema.required, ['kilos'])
    assert.deepEqual(tools.find(({ name }) => name === 'book')?.inputSchema.required, ['day'])
  },
  'a tool whose input is zod asks twice': ({ url }) => bookAcross(url()),
  'the same without sessions, by pannier/modern': ({ url }) => bookAcross(url('/modern')),
  'arguments that do not fit zod are refused': async ({ url }) => {
    const { result } = await at(url()).round('book', { day: 7 })
    assert.equal(result.isError, true)
  },
  'a tool whose input is JSON Schema, with a form made inside its handler': async ({ url }) => {
    const { text } = await at(url()).call('pack', { kilos: 4 }, { zip: accept({ zip: '10115' }) })
    assert.equal(text, '4 kg to 10115')
  },
  'arguments that do not fit JSON Schema are refused': async ({ url }) => {
    const { result } = await at(url()).round('pack', { kilos: 31 })
    assert.equal(result.isError, true)
  },
  'an answer that does not fit is asked for again': async ({ url }) => {
    const caller = at(url())
    const first = await caller.round('pack', { kilos: 4 })
    const { requestState } = first.result
    const retry = { inputResponses: { zip: accept({ zip: 'Berlin' }) }, ...(requestState && { requestState }) }
    const { result } = await caller.round('pack', { kilos: 4 }, retry)
    assert.equal(result.resultType, 'input_required')
  },
  'a state is refused with other arguments, and when it was changed': async ({ url }) => {
    const caller = at(url())
    const { requestState = '' } = (await caller.round('book', { day: 'Friday' })).result
    const retry = { name: 'book', inputResponses: { people: accept({ people: 4 }) } }
    assert.equal(await errorOf(caller, 'tools/call', { ...retry, arguments: { day: 'Monday' }, requestState }), -32602)
    const changed = requestState.slice(0, -4) + (requestState.endsWith('AAAA') ? 'BBBA' : 'AAAA')
    assert.equal(
      await errorOf(caller, 'tools/call', { ...retry, arguments: { day: 'Friday' }, requestState: changed }),
      -32602,
    )
  },
  'a state of each other runtime is opened here': async ({ url, others }) => {
    for (const other of others) await bookAcross(other('/modern'), url('/modern'), url('/modern'))
  },
  'a state of this one is opened by each other': async ({ url, others }) => {
    for (const other of others) await bookAcross(url('/modern'), other('/modern'), url('/modern'))
  },
  'pannier/sdk: a tool of the official SDK asks': async ({ url }) => {
    const { text } = await at(url('/sdk')).call('deploy', { env: 'test' }, { sure: accept({ sure: true }) })
    assert.equal(text, 'deployed the build for test')
  },
  '`once` runs once for two requests': async ({ url }) => {
    const order = crypto.randomUUID()
    const runs = [await at(url()).call('charge', { order }, {}), await at(url()).call('charge', { order }, {})]
    assert.equal(runs[0]?.text, runs[1]?.text)
    assert.match(runs[0]?.text ?? '', /^run \d+$/)
  },
  'twenty calls at once': async ({ url }) => {
    await Promise.all(Array.from({ length: 20 }, () => bookAcross(url())))
  },
  'prompts, and resources of text and of bytes': async ({ url }) => {
    const caller = at(url())
    const { messages } = (await caller.send('prompts/get', { name: 'greet', arguments: { name: 'Ann' } })).result
    assert.match(JSON.stringify(messages), /Hello, Ann/)
    const [text, bytes] = await Promise.all(
      ['text', 'bytes'].map((name) => caller.send('resources/read', { uri: `checked://${name}` })),
    )
    assert.match(JSON.stringify(text?.result), /"text":"Grüße"/)
    assert.match(JSON.stringify(bytes?.result), /"blob":"AP\+A"/)
  },
  'input that is not JSON, not UTF-8 or too large is refused': async ({ url }) => {
    const send = async (body: BodyInit) => (await open(url(), { body: body as string })).status
    failed(await send('{'), 400)
    failed(await send(Uint8Array.of(0x22, 0xff, 0x22)), 400)
    // The answer may come before the body is written.
    failed(await send(JSON.stringify('x'.repeat(5_000_000))).catch(() => 413), 413)
  },
  'callers have limits, calls middlewares, results a size': async ({ url }) => {
    const from = (address: string) => at(url('/limited'), { headers: { 'x-address': address } })
    const first = crypto.randomUUID()
    assert.deepEqual((await from(first).round('whoami')).result._meta['round'], 1)
    assert.ok(((await from(first).round('large')).error ?? (await from(first).round('whoami'))) !== undefined)
    assert.equal((await from(first).round('whoami')).status, 429)
    assert.equal((await from(crypto.randomUUID()).round('whoami')).status, 200)
  },
  '`bearer` with a key knows who calls': (runtime) => knows(runtime, '/key'),
  '`bearer` with the address of a key set knows who calls': (runtime) => knows(runtime, '/key-set'),
  'progress is streamed before the result': async ({ url }) => {
    const { notifications, result } = await at(url(), { meta: { progressToken: 'p' } }).round('count')
    assert.deepEqual(
      notifications.map(({ params }) => params['progress']),
      [1, 2, 3],
    )
    assert.equal(result.content?.[0]?.text, 'counted')
  },
  'a subscription is notified of a change': async ({ url }) => {
    const leave = new AbortController()
    const params = { notifications: { resourceSubscriptions: ['checked://text'] } }
    const { body } = await open(url(), { method: 'subscriptions/listen', params, signal: leave.signal })
    const until = reading(body)
    await until('acknowledged')
    await at(url()).round('touch')
    await until('notifications/resources/updated')
    leave.abort()
  },
  'a call whose client disconnects is aborted': async ({ url }) => {
    const count = async () => Number((await at(url()).call('aborted', {}, {})).text)
    const before = await count()
    const leave = new AbortController()
    const params = { name: 'wait', arguments: {} }
    const { body } = await open(url(), { params, meta: { progressToken: 'p' }, signal: leave.signal })
    await reading(body)('notifications/progress')
    leave.abort()
    const isSeen = async (): Promise<void> => {
      while ((await count()) === before) await pause(100)
    }
    await within(isSeen(), 'the abort')
  },
  'a session-era client is asked twice on the stream of its call': async ({ url }) => {
    const session = await Session.begin(url(), { elicitation: {} })
    const events = await session.stream('tools/call', { name: 'book', arguments: { day: 'Friday' } })
    await session.answer((await events.next()).message, accept({ people: 4 }))
    await session.answer((await events.next()).message, accept({ sure: true }))
    assert.match(JSON.stringify((await events.next()).message.result), new RegExp(BOOKED))
  },
  'a session-era client gets notifications on its GET stream': async ({ url }) => {
    const session = await Session.begin(url(), {})
    await session.request('resources/subscribe', { uri: 'checked://text' })
    const events = await session.standalone()
    await session.request('tools/call', { name: 'touch', arguments: {} })
    assert.equal((await within(events.next(), 'a notification')).message['method'], 'notifications/resources/updated')
    await events.leave()
  },
}

async function knows({ url, token }: Checked, path: string): Promise<void> {
  const whoami = (headers: Record<string, string>) => at(url(path), { headers }).call('whoami', {}, {})
  assert.equal((await whoami({ authorization: `Bearer ${token}` })).text, 'ann')
  failed((await whoami({ authorization: `Bearer ${token.slice(0, -8)}AAAAAAAA` })).status, 401)
  failed((await whoami({})).status, 401)
}

/** Reads a stream on until it holds a text. */
function reading(body: ReadableStream<Uint8Array> | null): (wanted: string) => Promise<void> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  const until = async (wanted: string): Promise<void> => {
    while (!text.includes(wanted)) {
      const { value, done } = (await reader?.read()) ?? { done: true, value: undefined }
      if (done) throw new Error(`The stream ended without ${wanted}: ${text}`)
      text += decoder.decode(value, { stream: true })
    }
  }
  return (wanted) => within(until(wanted), wanted)
}
