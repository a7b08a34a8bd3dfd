import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createKeyring, createSealer, newKey } from '../state/index.ts'
import { Self } from './instance.ts'
import { INSTANCE_HEADER, Messenger, UNOPENED } from './messenger.ts'

const keyring = createKeyring(newKey())
const url = 'http://b/mcp'

function messengerOf(self: Self, post?: typeof fetch, clock = Date.now, keys = keyring): Messenger {
  const sealer = createSealer({ keyring: keys, audience: 'test', clock })
  return new Messenger({ self, sealer, clock, replyWithinMs: 20, ...(post && { fetch: post }) })
}

interface Posted {
  readonly pass: string
  readonly body: string
}

function postedIn(init: RequestInit | undefined): Posted {
  return { pass: new Headers(init?.headers).get(INSTANCE_HEADER) ?? '', body: init?.body as string }
}

/** What A posts to B. */
async function postedTo(to: Self, clock = Date.now): Promise<Posted> {
  const posted = Promise.withResolvers<Posted>()
  const post: typeof fetch = async (_, init) => {
    posted.resolve(postedIn(init))
    return new Response(null)
  }
  await messengerOf(new Self('http://a/mcp'), post, clock).send(to, { kind: 'hello' })
  return posted.promise
}

async function sealedFor(to: Self, clock = Date.now): Promise<string> {
  return (await postedTo(to, clock)).body
}

const replyWith = (status: number, headers: Readonly<Record<string, string>>): Response =>
  new Response(null, { status, headers })

/** An endpoint that an instance of these keys is behind. */
function endpointOf(self: Self, keys = keyring): typeof fetch {
  const messenger = messengerOf(self, undefined, Date.now, keys)
  return async (_, init) => {
    const { pass, body } = postedIn(init)
    const refusal = messenger.refusalOf(pass)
    return refusal === undefined
      ? replyWith(200, { [INSTANCE_HEADER]: messenger.open(body).id })
      : replyWith(409, refusal)
  }
}

describe('a message', () => {
  test('opens at the instance it is for, and says who sent it', async () => {
    const self = new Self(url)
    const { from, message } = messengerOf(self).open(await sealedFor(self))
    expect([from.url, message]).toEqual(['http://a/mcp', { kind: 'hello' }])
  })

  test('opens at no other instance, nor at the next process with the same address', async () => {
    const token = await sealedFor(new Self(url))
    expect(() => messengerOf(new Self(url)).open(token)).toThrow(expect.objectContaining({ code: 'STATE_NAME' }))
  })

  test('opens once', async () => {
    const self = new Self(url)
    const messenger = messengerOf(self)
    const token = await sealedFor(self)
    messenger.open(token)
    expect(() => messenger.open(token)).toThrow(expect.objectContaining({ code: 'STATE_REPLAYED' }))
  })

  test('opens for seconds, between clocks that differ by half a minute', async () => {
    const self = new Self(url)
    const token = await sealedFor(self, () => 1_000_000)
    expect(() => messengerOf(self, undefined, () => 1_041_000).open(token)).toThrow(/expired/)
    for (const now of [1_030_000, 970_000]) expect(messengerOf(self, undefined, () => now).open(token)).toBeDefined()
  })
})

test('a message is read where its header is for this instance, and the header is no message itself', async () => {
  const self = new Self(url)
  const { pass } = await postedTo(self)
  const [here, elsewhere] = [messengerOf(self), messengerOf(new Self(url))]
  expect([here.refusalOf(pass), elsewhere.refusalOf(pass)]).toEqual([
    undefined,
    { [INSTANCE_HEADER]: expect.any(String) },
  ])
  expect(() => here.open(pass)).toThrow(expect.objectContaining({ code: 'STATE_METHOD' }))
})

describe('a refusal', () => {
  const next = new Self('http://next/mcp')
  const send = (post: typeof fetch, keys = keyring) =>
    messengerOf(new Self('http://a/mcp'), post, Date.now, keys).send(new Self(url), {})

  test('tells an instance of the same server who is here, and where others reach it', async () => {
    const { id } = next
    expect(await send(endpointOf(next))).toMatchObject({ kind: 'gone', successor: { id, url: 'http://next/mcp' } })
    expect(await send(endpointOf(Object.assign(next, { url: undefined })))).toMatchObject({ successor: { id, url } })
  })

  test('tells nothing to whoever has no key', async () => {
    const self = new Self(url)
    const { pass } = await postedTo(new Self(url))
    const stranger = messengerOf(self, undefined, Date.now, createKeyring(newKey()))
    for (const refusal of [stranger.refusalOf(pass), stranger.refusalOf('x'), stranger.refusalOf(undefined)])
      expect(refusal).toEqual({})
    const sealed = messengerOf(self).refusalOf(pass)![INSTANCE_HEADER]!
    const seen = sealed + Buffer.from(sealed, 'base64url').toString('latin1')
    for (const secret of [self.id, url]) expect(seen).not.toContain(secret)
  })

  test('counts for one message only', async () => {
    const before = messengerOf(next).refusalOf((await postedTo(new Self(url))).pass)!
    const delivery = await send(async () => replyWith(409, before))
    expect(delivery).toEqual({ kind: 'silent', why: expect.any(String) })
  })
})

describe('a message counts as delivered', () => {
  const to = new Self(url)
  const send = (post: typeof fetch) => messengerOf(new Self('http://a/mcp'), post).send(to, { kind: 'hello' })

  test('where its receiver has opened it', async () => {
    expect(await send(endpointOf(to))).toMatchObject({ kind: 'delivered' })
  })

  let earlier = ''
  const strangers = createKeyring(newKey())
  test.each<[string, typeof fetch]>([
    ['who names itself by the id of the receiver', async () => replyWith(200, { [INSTANCE_HEADER]: to.id })],
    ['who returns the pass', async (_, init) => replyWith(200, { [INSTANCE_HEADER]: postedIn(init).pass })],
    ['who returns the message', async (_, init) => replyWith(200, { [INSTANCE_HEADER]: postedIn(init).body })],
    ['who names itself -', async () => replyWith(200, { [INSTANCE_HEADER]: '-' })],
    ['who has other keys and the id of the receiver', endpointOf(to, strangers)],
    [
      'who has seen an earlier reply',
      async (...args) => {
        const reply = await endpointOf(to)(...args)
        const proof = reply.headers.get(INSTANCE_HEADER)!
        const replayed = replyWith(200, { [INSTANCE_HEADER]: earlier })
        earlier = proof
        return replayed
      },
    ],
  ])('never by the reply of one %s', async (_, post) => {
    for (let sent = 0; sent < 2; sent++) {
      const delivery = await send(post)
      expect([delivery.kind, 'successor' in delivery]).toEqual(['silent', false])
    }
  })
})

describe('an instance that does not take a message', () => {
  const to = new Self(url)
  const refused = new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })
  const reset = new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
  const never: typeof fetch = (_, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))))

  test.each<[string, string, typeof fetch, number]>([
    ['gone', 'its address refuses', () => Promise.reject(refused), 1],
    ['silent', 'its connections break twice', () => Promise.reject(reset), 2],
    ['silent', 'it does not answer in time, twice', never, 2],
    ['silent', 'an unknown process has its address', async () => new Response(null, { status: 409 }), 1],
    ['silent', 'nothing stands behind a proxy, twice', async () => new Response(null, { status: 502 }), 2],
  ])('is %s where %s', async (kind, _, post, attempts) => {
    let made = 0
    const counting: typeof fetch = (...args) => {
      made++
      return post(...args)
    }
    const delivery = await messengerOf(new Self('http://a/mcp'), counting).send(to, {})
    expect([delivery.kind, made]).toEqual([kind, attempts])
  })

  test('gets it by the second attempt', async () => {
    const endpoints: (typeof fetch)[] = [async () => new Response(null, { status: 503 }), endpointOf(to)]
    const post: typeof fetch = (...args) => endpoints.shift()!(...args)
    const delivery = await messengerOf(new Self('http://a/mcp'), post).send(to, {})
    expect(delivery.kind).toBe('delivered')
  })

  test('is silent within a second where it was lost before', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const post = vi.fn(never)
    const sealer = createSealer({ keyring, audience: 'test' })
    const messenger = new Messenger({ self: new Self('http://a/mcp'), sealer, clock: Date.now, fetch: post })
    const sending = messenger.send(to, {}, { wasLost: true })
    await vi.advanceTimersByTimeAsync(1000)
    expect([await sending, post.mock.calls.length]).toEqual([{ kind: 'silent', why: 'no reply in time' }, 2])
  })

  test('is silent after one attempt with the time of two, where the message must not be handled twice', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const post = vi.fn(never)
    const sealer = createSealer({ keyring, audience: 'test' })
    const messenger = new Messenger({ self: new Self('http://a/mcp'), sealer, clock: Date.now, fetch: post })
    const sending = vi.fn()
    void messenger.send(to, {}, { isOnce: true }).then(sending)
    await vi.advanceTimersByTimeAsync(4999)
    expect(sending).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(sending).toHaveBeenCalledWith({ kind: 'silent', why: 'no reply in time' })
    expect(post).toHaveBeenCalledOnce()
  })

  test('is neither where the message is too large: that rejects', async () => {
    const sending = messengerOf(new Self('http://a/mcp'), never).send(to, { junk: 'x'.repeat(2_000_000) })
    await expect(sending).rejects.toMatchObject({ code: 'STATE_TOO_LARGE' })
  })
})

test('a search uses no connection twice, because a balancer may choose an instance for each connection', async () => {
  const server = createServer((_, res) => void res.writeHead(409).end())
  const seen = new Set<string | undefined>()
  server.on('request', ({ headers }) => seen.add(headers.connection))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const messenger = messengerOf(new Self('http://a/mcp'))
  const at = { url: `http://127.0.0.1:${port}/mcp` }
  await vi.waitFor(async () => expect(await messenger.send({ id: '', ...at }, {})).toMatchObject({ why: UNOPENED }))
  expect([...seen]).toEqual(['close'])
  await vi.waitFor(async () => expect(await messenger.send({ id: 'b', ...at }, {})).toMatchObject({ why: UNOPENED }))
  expect([...seen]).toEqual(['close', 'keep-alive'])
})
