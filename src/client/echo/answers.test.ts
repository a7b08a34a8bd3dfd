import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { echoFetch } from './fetch.ts'

const URL_OF_SERVER = 'http://server/mcp'
const question = (id: string) =>
  `{"jsonrpc":"2.0","id":"${id}","method":"elicitation/create","params":{},"state":"s ${id}"}`
const result = '{"jsonrpc":"2.0","id":1,"result":{}}'

/** A server whose streams the test writes, and who answers posts as the test says. */
class ScriptedServer {
  readonly posted: { readonly body: string; readonly authorization: string | null }[] = []
  /** How the next posts of answers go; `undefined` is a connection that is lost. Then all are taken. */
  readonly replies: (number | undefined)[] = []
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined

  readonly fetch = async (_: unknown, init: RequestInit = {}): Promise<Response> => {
    init.signal?.throwIfAborted()
    const body = typeof init.body === 'string' ? init.body : ''
    if (body.includes('"result"')) {
      this.posted.push({ body, authorization: new Headers(init.headers).get('authorization') })
      const status = this.replies.length === 0 ? 202 : this.replies.shift()
      if (status === undefined) throw new TypeError('fetch failed')
      return new Response(null, { status })
    }
    const stream = new ReadableStream<Uint8Array>({ start: (controller) => void (this.#stream = controller) })
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
  }

  send(id: string, data: string): void {
    this.#stream?.enqueue(new TextEncoder().encode(`id: ${id}\ndata: ${data}\n\n`))
  }

  cut(): void {
    this.#stream?.error(new Error('cut'))
  }
}

/** A client that reads a stream until it breaks off. */
async function client() {
  const server = new ScriptedServer()
  const fetch = echoFetch(server.fetch)
  const events: string[] = []
  const read = async (response: Response): Promise<void> => {
    for await (const chunk of response.body ?? []) events.push(new TextDecoder().decode(chunk))
  }
  const open = async (init: RequestInit): Promise<void> => void read(await fetch(URL_OF_SERVER, init)).catch(() => {})
  await open({ method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"tools/call"}' })
  return {
    server,
    async asked(...ids: string[]): Promise<void> {
      for (const id of ids) {
        server.send(`e-${id}`, question(id))
        await vi.waitFor(() => expect(events.join('')).toContain(`"${id}"`))
      }
    },
    async ended(): Promise<void> {
      server.send('end', result)
      await vi.waitFor(() => expect(events.join('')).toContain('"result"'))
    },
    answer: (id: string, init: RequestInit = {}) =>
      fetch(URL_OF_SERVER, { method: 'POST', body: `{"jsonrpc":"2.0","id":"${id}","result":{}}`, ...init }),
    async comesBack(lastEventId: string, headers: Record<string, string> = {}): Promise<void> {
      server.cut()
      await open({ method: 'GET', headers: { 'last-event-id': lastEventId, ...headers } })
      await vi.advanceTimersByTimeAsync(0)
    },
    /** The questions whose answers were posted, with their states, in order. */
    posted: () => server.posted.map(({ body }) => /"state":"s (\w+)"/.exec(body)?.[1]),
  }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

test('when a client comes back to the stream of a call, its last answers are posted again, with their states', async () => {
  const { asked, answer, comesBack, posted } = await client()
  await asked('a', 'b')
  await answer('a')
  await answer('b')
  await comesBack('e-b')
  expect(posted()).toEqual(['a', 'b', 'a', 'b'])
  await comesBack('e-b')
  expect(posted()).toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
})

test('an answer is not posted again after a newer question, and neither is one to an older question', async () => {
  const { asked, answer, comesBack, posted } = await client()
  await asked('a', 'b')
  await answer('a')
  await asked('c')
  await comesBack('e-c')
  await answer('b')
  await comesBack('e-c')
  expect(posted()).toEqual(['a', 'b'])
  await answer('c')
  await comesBack('e-c')
  expect(posted()).toEqual(['a', 'b', 'c', 'c'])
})

test('nothing is posted again for another stream, nor after the result', async () => {
  const { asked, answer, ended, comesBack, posted } = await client()
  await asked('a')
  await answer('a')
  await comesBack('of another')
  await comesBack('e-a')
  expect(posted()).toEqual(['a', 'a'])
  await ended()
  await comesBack('end')
  await comesBack('e-a')
  expect(posted()).toEqual(['a', 'a'])
})

test('answers are posted again to a client that has missed the last event, because the connection was cut in that moment', async () => {
  const { server, asked, answer, comesBack, posted } = await client()
  await asked('a')
  await answer('a')
  server.send('later', '{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
  await vi.advanceTimersByTimeAsync(0)
  await comesBack('e-a')
  expect(posted()).toEqual(['a', 'a'])
})

test('a question that comes once more, to a client that has missed it, is answered on the same stream', async () => {
  const { asked, answer, comesBack, posted } = await client()
  await asked('a')
  await answer('a')
  await asked('b')
  await comesBack('e-a')
  await asked('b')
  await answer('b')
  await comesBack('e-b')
  expect(posted()).toEqual(['a', 'b', 'b'])
})

test('ids of events that are too long for a header are not kept', async () => {
  const { server, asked, answer, comesBack, posted } = await client()
  const long = (chars: number): string => 'x'.repeat(chars)
  await asked('a')
  await answer('a')
  for (const chars of [16_384, 16_385])
    server.send(long(chars), '{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
  await vi.advanceTimersByTimeAsync(0)
  await comesBack(long(16_385))
  expect(posted()).toEqual(['a'])
  await comesBack(long(16_384))
  expect(posted()).toEqual(['a', 'a'])
})

test('an answer is posted again with the token that the client comes back with', async () => {
  const { server, asked, answer, comesBack } = await client()
  await asked('a')
  await answer('a', { headers: { authorization: 'Bearer old' } })
  await comesBack('e-a', { authorization: 'Bearer new' })
  expect(server.posted.map(({ authorization }) => authorization)).toEqual(['Bearer old', 'Bearer new'])
})

test('an answer whose connection is lost, or that a balancer finds nobody for, is posted until one takes it', async () => {
  const { server, asked, answer, posted } = await client()
  await asked('a')
  server.replies.push(undefined, 502, 503)
  const posting = answer('a')
  await vi.advanceTimersByTimeAsync(700)
  expect((await posting).status).toBe(202)
  expect(posted()).toEqual(['a', 'a', 'a', 'a'])
})

test('it is posted for ten seconds, then its sender is told; at once when it is refused', async () => {
  const { server, asked, answer, posted } = await client()
  await asked('a')
  server.replies.push(400)
  expect((await answer('a')).status).toBe(400)
  server.replies.push(...Array.from({ length: 8 }, () => undefined))
  const posting = answer('a').catch(String)
  await vi.advanceTimersByTimeAsync(12_000)
  expect(await posting).toContain('fetch failed')
  expect(posted()).toHaveLength(9)
})

test('a client that closes its connection waits for no further attempt', async () => {
  const { server, asked, answer, posted } = await client()
  const closing = new AbortController()
  await asked('a')
  server.replies.push(undefined)
  const posting = answer('a', { signal: closing.signal }).catch(String)
  await vi.advanceTimersByTimeAsync(50)
  closing.abort()
  expect(await posting).toContain('aborted')
  expect(posted()).toEqual(['a'])
})
