/** `server.fetch` in workerd, the runtime of Cloudflare Workers, with examples/mount/worker.ts and nodejs_compat. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose'
import { newKey } from 'pannier/state'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accept, Caller } from '../docs/fixtures/caller.ts'
import { Session } from '../docs/fixtures/sessionClient.ts'
import { startWorkerd, type Workerd } from './workerd.ts'

const issuer = 'https://auth.example.com'
const audience = 'https://mcp.example.com/mcp'
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const secret = randomBytes(32)
const jwk = { ...publicKey.export({ format: 'jwk' }), alg: 'ES256' }

const keySet = createHttpServer((_, res) => res.end(JSON.stringify({ keys: [jwk] })))

// The oldest date the guide names, and one after which timers are objects, as in Node.
const DATES = ['2025-09-15', '2026-10-20'] as const

let runtime: Workerd

beforeAll(async () => {
  await once(keySet.listen(0, '127.0.0.1'), 'listening')
  const given = {
    issuer,
    audience,
    jwks: `http://127.0.0.1:${(keySet.address() as AddressInfo).port}/jwks`,
    pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    jwk,
    secret: secret.toString('base64url'),
  }
  runtime = await startWorkerd({
    entry: 'test/runtimes/worker.ts',
    compatibilityDates: DATES,
    bindings: { PANNIER_KEYS: newKey(), GIVEN: JSON.stringify(given) },
  })
})

afterAll(async () => {
  keySet.close()
  await runtime?.close()
})

describe.each(DATES)('in a Worker with the compatibility date %s', (date) => {
  const url = (path = '/mcp') => new URL(path, runtime.urls.get(date)).href

  test('a tool answers', async () => {
    const { text } = await new Caller(fetch, { url: url() }).call('menu', {}, {})
    expect(text).toBe('Soup, dumplings, plum cake.')
  })

  test('a tool asks twice, each time in a round of its own', async () => {
    const answers = { people: accept({ people: 4 }), sure: accept({ sure: true }) }
    const caller = new Caller(fetch, { url: url() })
    const { text, asked } = await caller.call('book_table', { day: 'Friday' }, answers)
    expect(asked).toEqual([['people'], ['sure']])
    expect(text).toBe('Booked for 4 on Friday.')
  })

  test('what is asked together goes out together, after the steps before it', async () => {
    const answers = { paper: accept({ choice: 'brown' }), ribbon: accept({ choice: 'red' }) }
    const { text, asked } = await new Caller(fetch, { url: url('/parcels') }).call('pack', { kilos: 4 }, answers)
    expect(asked).toEqual([['paper', 'ribbon']])
    expect(text).toBe('brown, red: 8')
  })

  test('callers have their limits, and calls their middlewares', async () => {
    const from = (address: string) =>
      new Caller(fetch, { url: url('/limited'), headers: { 'cf-connecting-ip': address } })
    const { result } = await from('192.0.2.1').round('echo')
    expect(result).toMatchObject({ content: [{ text: 'echo' }], _meta: { round: 1 } })
    expect((await from('192.0.2.1').round('echo')).status).toBe(200)
    expect((await from('192.0.2.1').round('echo')).status).toBe(429)
    expect((await from('192.0.2.2').round('echo')).status).toBe(200)
  })

  test('arguments are checked by the JSON Schema of a tool', async () => {
    const { text } = await new Caller(fetch, { url: url('/parcels') }).call('pack', { kilos: 40 }, {})
    expect(text).toBe('The arguments do not fit: kilos: 40 is greater than 30.')
  })

  test('answers are checked by a JSON Schema that is made while the call runs', async () => {
    const caller = new Caller(fetch, { url: url('/parcels') })
    const { text } = await caller.call('label', {}, { zip: accept({ zip: '10115' }) })
    expect(text).toBe('To 10115')
    const asked = await caller.round('label', {})
    const { requestState } = asked.result
    const again = await caller.round('label', {}, { requestState, inputResponses: { zip: accept({ zip: '101150' }) } })
    expect(again.result.inputRequests?.['zip']?.params?.message).toContain('Which postal code?')
  })

  test('progress is streamed, and the result ends the stream', async () => {
    const caller = new Caller(fetch, { url: url(), meta: { progressToken: 'p' } })
    const { notifications, result } = await caller.round('cook', { minutes: 3, msPerMinute: 10 })
    expect(notifications.map(({ params }) => params['progress'])).toEqual([1, 2, 3])
    expect(result.content?.[0]?.text).toBe('Done.')
  })

  test('a session-era client is asked twice on the stream of its call', async () => {
    const session = await Session.begin(url(), { elicitation: {} })
    const events = await session.stream('tools/call', { name: 'book_table', arguments: { day: 'Friday' } })
    await session.answer((await events.next()).message, accept({ people: 4 }))
    await session.answer((await events.next()).message, accept({ sure: true }))
    const { result } = (await events.next()).message
    expect(result).toMatchObject({ content: [{ text: 'Booked for 4 on Friday.' }] })
  })

  test.each(['/fetched-set', '/given-set', '/pem', '/jwk', '/key-object', '/secret', '/secret-key-object'])(
    'bearer() with %s knows who calls, and turns others away',
    async (path) => {
      const whoami = (headers: Record<string, string>) =>
        new Caller(fetch, { url: url(path), headers }).call('whoami', {}, {})
      const token = await (path.startsWith('/secret') ? sign('HS256', secret) : sign('ES256', privateKey))
      expect((await whoami({ authorization: `Bearer ${token}` })).text).toBe('ann')
      expect((await whoami({ authorization: `Bearer ${token.slice(0, -8)}AAAAAAAA` })).status).toBe(401)
      expect((await whoami({})).status).toBe(401)
    },
  )

  test('pannier/state loads', async () => {
    expect(await (await fetch(url('/state'))).json()).toContain('sqliteJar')
  })
})

test('the runtime has nothing to complain about', () => {
  expect(runtime.output()).toBe('')
})

function sign(alg: string, key: Parameters<SignJWT['sign']>[0]): Promise<string> {
  const token = new SignJWT({ sub: 'ann' }).setProtectedHeader({ alg }).setIssuer(issuer).setAudience(audience)
  return token.setIssuedAt().setExpirationTime('1m').sign(key)
}
