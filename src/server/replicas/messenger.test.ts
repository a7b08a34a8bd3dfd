import { describe, expect, test } from 'vitest'
import { createKeyring, createSealer, newKey } from '../../state/index.ts'
import { Self } from './instance.ts'
import { INSTANCE_HEADER, Messenger } from './messenger.ts'

const keyring = createKeyring(newKey())
const url = 'http://b/mcp'

function messengerOf(self: Self, post?: typeof fetch, clock = Date.now): Messenger {
  const sealer = createSealer({ keyring, audience: 'test', clock })
  return new Messenger({ self, sealer, clock, replyWithinMs: 20, ...(post && { fetch: post }) })
}

/** What A posts to B. */
async function sealedFor(to: Self, clock = Date.now): Promise<string> {
  let body = ''
  const post: typeof fetch = async (_, init) => {
    body = init?.body as string
    return new Response(null, { headers: { [INSTANCE_HEADER]: to.id } })
  }
  await messengerOf(new Self('http://a/mcp'), post, clock).send(to, { kind: 'hello' })
  return body
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
  let pass = ''
  const post: typeof fetch = async (_, init) => {
    pass = new Headers(init?.headers).get(INSTANCE_HEADER) ?? ''
    return new Response(null, { headers: { [INSTANCE_HEADER]: self.id } })
  }
  await messengerOf(new Self('http://a/mcp'), post).send(self, { kind: 'hello' })
  const [here, elsewhere] = [messengerOf(self), messengerOf(new Self(url))]
  expect([here.admits(pass), elsewhere.admits(pass), here.admits(undefined), here.admits('x')]).toEqual([
    true,
    false,
    false,
    false,
  ])
  expect(() => here.open(pass)).toThrow(expect.objectContaining({ code: 'STATE_MALFORMED' }))
})

describe('an instance counts as gone', () => {
  const to = new Self(url)
  const refused = new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })
  const reset = new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
  const never: typeof fetch = (_, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))))

  test.each<[string, typeof fetch, number]>([
    ['when its address refuses', () => Promise.reject(refused), 1],
    ['when its connections break twice', () => Promise.reject(reset), 2],
    ['when it does not answer in time, twice', never, 2],
    ['when another process has its address', async () => new Response(null, { status: 421 }), 1],
    ['when nothing stands behind a proxy, twice', async () => new Response(null, { status: 502 }), 2],
  ])('%s', async (_, post, attempts) => {
    let made = 0
    const counting: typeof fetch = (...args) => {
      made++
      return post(...args)
    }
    const delivery = await messengerOf(new Self('http://a/mcp'), counting).send(to, {})
    expect([delivery.kind, made]).toEqual(['gone', attempts])
  })

  test('but not when the second attempt reaches it', async () => {
    const replies = [new Response(null, { status: 503 }), new Response(null, { headers: { [INSTANCE_HEADER]: to.id } })]
    const delivery = await messengerOf(new Self('http://a/mcp'), async () => replies.shift()!).send(to, {})
    expect(delivery.kind).toBe('delivered')
  })

  test('and not when a message to it is too large: that rejects', async () => {
    const sending = messengerOf(new Self('http://a/mcp'), never).send(to, { junk: 'x'.repeat(2_000_000) })
    await expect(sending).rejects.toMatchObject({ code: 'STATE_TOO_LARGE' })
  })

  test('and not when the one who waits leaves: that rejects', async () => {
    const abort = new AbortController()
    const sending = messengerOf(new Self('http://a/mcp'), never).send(to, {}, abort.signal)
    abort.abort(new Error('left'))
    await expect(sending).rejects.toThrow('left')
  })
})
