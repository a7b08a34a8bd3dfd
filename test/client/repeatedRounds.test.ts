/** Later rounds of a call while no instance is there: they are sent again, and the person is asked once. */
import { once } from 'node:events'
import { createServer as createHost, type Server as Host, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '@modelcontextprotocol/client'
import {
  type Answerer,
  type Answerers,
  clientCode,
  connect,
  type ConnectOptions,
  resume,
  suspend,
  suspendedOf,
} from 'pannier/client'
import { createServer, type Server } from 'pannier/server'
import { memoryLedger } from 'pannier/state'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'

const orders: string[] = []
let server: Server

beforeAll(() => {
  server = createServer({ name: 'shop', version: '1', keys: KEYS, logger: quiet, ledger: memoryLedger() })
  const schema = z.object({ dish: z.string() })
  server.tool('order', { description: 'Orders a dish.' }, async (_, ctx) => {
    ctx.progress(1, 2)
    const { dish } = await ctx.ask('dish', { message: 'Which dish?', schema })
    await ctx.once('order', async () => void orders.push(dish))
    return `Here is your ${dish}.`
  })
})
beforeEach(() => void orders.splice(0))
afterAll(() => server.drain({ deadlineMs: 0 }))

const soup = { content: [{ type: 'text', text: 'Here is your soup.' }] }

/** Answers once, after `before`. A second question fails the call. */
function person(before: () => unknown = () => undefined): Answerer {
  let isAsked = false
  return async () => {
    if (isAsked) throw new Error('asked twice')
    isAsked = true
    await before()
    return { action: 'accept', content: { dish: 'soup' } }
  }
}

async function using<Result>(client: Client, work: (client: Client) => Promise<Result>): Promise<Result> {
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

/** A response whose connection ends in the middle of its stream. */
function breaking(response: ServerResponse): ServerResponse {
  const write = response.write.bind(response) as (text: string) => boolean
  let writes = 0
  response.write = (text: string) => {
    if (++writes === 1) return write(text)
    response.socket?.end() // after what was written before
    return false
  }
  return response
}

describe('over the network', () => {
  let host: Host
  let port: number
  /**
   * How the next requests are answered; `cut` and `broken`, in the middle of a stream, after the server has done its work. Then
   * all are served.
   */
  const faults: (number | 'cut' | 'broken')[] = []

  const listen = async (at: number): Promise<void> => void (await once(host.listen(at, '127.0.0.1'), 'listening'))
  const close = async (): Promise<void> => {
    const closed = once(host, 'close')
    host.close()
    host.closeAllConnections()
    await closed
  }

  beforeAll(async () => {
    const handle = server.nodeHandler()
    host = createHost((request, response) => {
      const fault = faults.shift()
      if (fault === undefined) return handle(request, response)
      if (fault === 'broken') return handle(request, breaking(response))
      if (fault !== 'cut') return void response.writeHead(fault).end('<html>Nobody is there.</html>')
      response.writeHead = () => {
        request.socket.destroy()
        return response
      }
      return handle(request, response)
    })
    await listen(0)
    port = (host.address() as AddressInfo).port
  })
  afterAll(close)

  const connected = (answerers: Answerers, options: ConnectOptions = {}) =>
    connect(`http://127.0.0.1:${port}/mcp`, { answerers, ...options })

  test.each([[[502, 502]], [[503, 504]], [['cut']], [['broken']], [['broken', 503, 'broken']]] as const)(
    'a round that meets %j is sent again, and what is done once is done once',
    async (met) => {
      const form = person(() => faults.push(...met))
      await using(await connected({ form }), async (client) => {
        expect(await client.callTool({ name: 'order' }, { onprogress() {} })).toMatchObject(soup)
      })
      expect(faults).toEqual([])
      expect(orders).toEqual(['soup'])
    },
  )

  test('a round whose stream breaks off again and again is given up', async () => {
    const form = person(() => faults.push(...Array.from({ length: 20 }, () => 'broken' as const)))
    await using(await connected({ form }), async (client) => {
      const error = await client.callTool({ name: 'order' }, { onprogress() {} }).catch((thrown: unknown) => thrown)
      expect(clientCode(error)).toBe('STREAM_ENDED')
    })
    expect(faults.splice(0).length).toBeGreaterThan(0)
    expect(orders).toEqual(['soup'])
  })

  test('a first round whose stream breaks off is not sent again', async () => {
    await using(await connected({ form: person() }), async (client) => {
      faults.push('broken')
      const error = await client.callTool({ name: 'order' }, { onprogress() {} }).catch((thrown: unknown) => thrown)
      expect(clientCode(error)).toBe('STREAM_ENDED')
    })
    expect(orders).toEqual([])
  })

  test('a round that finds no listener is sent again when there is one', async () => {
    const refusal = Promise.withResolvers<void>()
    const noticing: typeof fetch = (...request) =>
      fetch(...request).catch((error: unknown) => {
        refusal.resolve()
        throw error
      })
    const form = person(async () => {
      await close()
      void refusal.promise.then(() => listen(port))
    })
    await using(await connected({ form }, { fetch: noticing }), async (client) => {
      expect(await client.callTool({ name: 'order' })).toMatchObject(soup)
    })
    expect(orders).toEqual(['soup'])
  })

  test('the answers of a suspended call are sent again, too', async () => {
    const saved = await using(await connected({ form: suspend() }), async (client) =>
      suspendedOf(await client.callTool({ name: 'order' })),
    )
    await using(await connected({}), async (client) => {
      faults.push(502, 'cut')
      expect(await resume(saved?.saved, { dish: { dish: 'soup' } }, client)).toMatchObject(soup)
    })
    expect(faults).toEqual([])
    expect(orders).toEqual(['soup'])
  })

  test('a first round is not sent again: each would be a call of its own', async () => {
    await using(await connected({ form: person() }), async (client) => {
      faults.push(502)
      await expect(client.callTool({ name: 'order' })).rejects.toMatchObject({ data: { status: 502 } })
    })
    expect(faults).toEqual([])
  })
})

describe('by the clock', () => {
  /** The ids of the later rounds. */
  const ids: unknown[] = []
  let reply: () => Response | Promise<Response>

  /** A server whose later rounds are answered by `reply`. */
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init)
    const { id, params } = typeof init?.body === 'string' ? JSON.parse(init.body) : {}
    if (params?.inputResponses === undefined) return server.fetch(request)
    ids.push(id)
    const response = await reply()
    return response.ok ? server.fetch(request) : response
  }
  const ordering = async (work: (call: Promise<unknown>, leave: () => void) => Promise<void>): Promise<void> => {
    await using(await connect('http://127.0.0.1/mcp', { fetch, answerers: { form: person() } }), async (client) => {
      const caller = new AbortController()
      const call = client.callTool({ name: 'order' }, { signal: caller.signal, timeout: 120_000 })
      const outcome = call.catch((error: unknown) => error)
      await vi.waitFor(() => expect(ids).toHaveLength(1), { interval: 1 })
      await work(outcome, () => caller.abort())
    })
  }

  beforeEach(() => {
    ids.splice(0)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  })
  afterEach(() => void vi.useRealTimers())

  test('a round is sent for about ten seconds, each time under another id; then the call fails and says what to do', async () => {
    reply = () => new Response('', { status: 502 })
    await ordering(async (outcome) => {
      await vi.advanceTimersByTimeAsync(12_000)
      const error = await outcome
      expect(clientCode(error)).toBe('ROUND_UNSENT')
      expect(String(error)).toContain('Call again; the rounds so far may have had effects.')
      expect(error).toMatchObject({ data: { cause: { data: { status: 502 } } } })
    })
    expect(new Set(ids).size).toBe(8)
    expect(orders).toEqual([])
  })

  test('Retry-After is waited for, up to five seconds', async () => {
    const waits = ['2', '3600']
    reply = () => {
      const wait = waits.shift()
      return wait === undefined ? new Response() : new Response('', { status: 503, headers: { 'retry-after': wait } })
    }
    await ordering(async (outcome) => {
      await vi.advanceTimersByTimeAsync(1_900)
      expect(ids).toHaveLength(1)
      await vi.advanceTimersByTimeAsync(200)
      expect(ids).toHaveLength(2)
      await vi.advanceTimersByTimeAsync(5_000)
      expect(await outcome).toMatchObject(soup)
    })
    expect(ids).toHaveLength(3)
  })

  test('a round that is refused otherwise is not sent again', async () => {
    reply = () => new Response('', { status: 500 })
    await ordering(async (outcome) => expect(clientCode(await outcome)).toBe('ROUND_UNSENT'))
    expect(ids).toHaveLength(1)
  })

  test('a caller who leaves ends the waiting', async () => {
    reply = () => Promise.reject(new TypeError('fetch failed'))
    await ordering(async (outcome, leave) => {
      await vi.advanceTimersByTimeAsync(50)
      leave()
      expect(await outcome).toBeInstanceOf(Error)
      await vi.advanceTimersByTimeAsync(12_000)
    })
    expect(ids).toHaveLength(1)
  })
})
