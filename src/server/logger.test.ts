/** What operators get to read: sentences and codes, and nothing that opens a door or was told in confidence. */
import { generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { accept, Caller } from '../../test/docs/fixtures/caller.ts'
import { createKeyring, newKey } from '../state/seal/index.ts'
import { memoryCarryStore } from '../state/stores/index.ts'
import { bearer, type CarryMode, createServer, type Logger, type ServerOptions } from './index.ts'
import { errorDetails } from './logger.ts'

const ISSUER = 'https://auth.example.com'
const RESOURCE = 'http://localhost:3000/mcp'
const { publicKey, privateKey } = generateKeyPairSync('ed25519')

function sign(claims: Record<string, unknown> = {}): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + 60
  const whole = {
    iss: ISSUER,
    aud: RESOURCE,
    sub: 'ann',
    scope: 'tools',
    private: 'claim-in-confidence',
    exp,
    ...claims,
  }
  return new SignJWT(whole).setProtectedHeader({ alg: 'EdDSA' }).sign(privateKey)
}

/** A real pino at its most talkative, and all it wrote. */
function listen(): { logger: Logger; lines: () => string } {
  const written: string[] = []
  return {
    logger: pino({ level: 'trace' }, { write: (line: string) => written.push(line) }),
    lines: () => written.join(''),
  }
}

function makeServer(options: Partial<ServerOptions>) {
  const server = createServer({ name: 'discreet', version: '1.0.0', ...options })
  const form = { message: 'The code?', schema: z.object({ code: z.string().min(5) }) }
  server.tool('unlock', { description: 'Asks for a code', input: z.object({ door: z.string() }) }, async (_, ctx) => {
    const { code } = await ctx.ask('code', form)
    const kept = await ctx.step('keep', () => ({ code }))
    const { again } = await ctx.ask('again', { message: 'Again?', schema: z.object({ again: z.string() }) })
    return kept.code === again ? 'Open.' : 'Shut.'
  })
  server.tool('fails', { description: 'Fails with baggage' }, () => {
    const response = { headers: { authorization: 'Bearer upstream-in-confidence' }, body: 'body-in-confidence' }
    throw Object.assign(new Error('upstream failed'), { response, config: response })
  })
  server.prompt('poem', { description: 'Fails' }, () => {
    throw Object.assign(new Error('no poem'), { request: { body: 'prompt-in-confidence' } })
  })
  return server
}

/** Remembers what must not be read anywhere. */
class Confidences {
  readonly #all = new Set<string>()

  add<T extends string | null | undefined>(secret: T): T {
    if (secret) this.#all.add(secret)
    return secret
  }

  /** Also when only a piece of a long one was written. */
  expectNoneIn(text: string): void {
    expect(this.#all.size).toBeGreaterThan(5)
    for (const secret of this.#all) {
      const piece = secret.length > 40 ? secret.slice(secret.length / 2, secret.length / 2 + 20) : secret
      expect(text, `a confidence of ${secret.length} characters was logged`).not.toContain(piece)
    }
  }
}

test.each<CarryMode>(['client', 'store', 'both', 'client-first'])(
  'no token, key, state or answer is in any log line, whatever goes well or badly (carry: %s)',
  async (carry) => {
    const confidences = new Confidences()
    const { logger, lines } = listen()
    const keys = confidences.add(newKey())
    confidences.add(keys.split('.').at(-1))
    const principal = bearer({ issuer: ISSUER, audience: RESOURCE, key: publicKey, scopes: ['tools'] })
    const server = makeServer({ keys, carry, store: memoryCarryStore(), principal, logger })
    for (const secret of ['claim', 'upstream', 'body', 'prompt', 'door']) confidences.add(`${secret}-in-confidence`)

    const as = (token: string) =>
      new Caller(server.fetch, { url: RESOURCE, headers: { authorization: `Bearer ${confidences.add(token)}` } })
    const ann = as(await sign())
    const bob = as(await sign({ sub: 'bob' }))
    const args = { door: 'door-in-confidence' }
    const code = confidences.add('answer-in-confidence')
    const [first, again] = [{ code: accept({ code }) }, { again: accept({ again: code }) }]

    // A call that goes well, and what can be done to its states.
    const one = (await ann.round('unlock', args)).result
    const two = (await ann.round('unlock', args, { requestState: one.requestState, inputResponses: first })).result
    for (const { requestState } of [one, two]) confidences.add(requestState)
    const retry = { requestState: two.requestState, inputResponses: again }
    expect((await ann.round('unlock', args, retry)).result.content?.[0]?.text).toBe('Open.')
    await ann.round('unlock', args, retry)
    await bob.round('unlock', args, retry)
    await ann.round('unlock', { door: 'another-in-confidence' }, retry)
    const bent = confidences.add(`${two.requestState?.slice(0, -4)}AAAA`)
    await ann.round('unlock', args, { ...retry, requestState: bent })
    await ann.round('unlock', args, { ...retry, requestState: confidences.add('nonsense-in-confidence-state') })
    await ann.round('unlock', args, { inputResponses: { code: accept({ code: 7 }), extra: code } })
    await ann.round('unlock', args, { inputResponses: { code: { action: 'decline', content: { code } } } })
    await ann.round('unlock', args, { inputResponses: code })

    // What else goes wrong.
    await ann.round('unlock', { door: { door: 'door-in-confidence' } })
    await ann.round('fails')
    await ann.round('no-such-tool', args)
    await ann.send('prompts/get', { name: 'poem' })
    await ann.send('no/such/method', { token: code })
    await ann.send('resources/read', { uri: `docs://${code}` })
    const tokens = [
      await sign({ exp: 1 }),
      await sign({ aud: 'https://elsewhere.example.com' }),
      await sign({ scope: 'nothing' }),
      `${(await sign()).slice(0, -8)}AAAAAAAA`,
      'nonsense-in-confidence-token',
    ]
    for (const token of tokens) expect((await as(token).round('unlock', args)).status).toBeGreaterThan(400)
    await raw(server.fetch, `{"token":"${code}"`)
    await raw(server.fetch, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 7, params: { code } }))

    // The session era: an id that is a token, and an answer nobody waits for.
    const authorization = `Bearer ${confidences.add(await sign())}`
    const session = confidences.add(await initialize(server.fetch, authorization))
    await raw(
      server.fetch,
      JSON.stringify({ jsonrpc: '2.0', id: 'x', result: { content: { code }, state: two.requestState } }),
      {
        'mcp-session-id': session,
        authorization,
      },
    )
    await raw(server.fetch, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', {
      'mcp-session-id': confidences.add(`${session.slice(0, -6)}AAAAAA`),
      authorization,
    })
    await server.drain()

    expect(lines()).toContain('A caller was refused.')
    expect(lines()).toContain('A request was refused.')
    expect(lines()).toContain('A tool failed.')
    expect(lines()).toContain('upstream failed')
    confidences.expectNoneIn(lines())
  },
)

test("an author's own pino logs the class of an error", () => {
  const { logger, lines } = listen()
  logger.error({ err: errorDetails(Object.assign(new RangeError('Too far.'), { code: 'FAR' })) }, 'Failed.')
  expect(JSON.parse(lines())).toMatchObject({ err: { type: 'RangeError', message: 'Too far.', code: 'FAR' } })
})

class OutOfStock extends Error {}
class TooFar extends RangeError {
  override name = 'Distance'
}

test.each([
  ['its class', new OutOfStock('None left.'), 'OutOfStock'],
  ['the name that its author gave it', new TooFar('Too far.'), 'Distance'],
  ['its class, of the runtime', new RangeError('Too far.'), 'RangeError'],
  ['the name that the runtime gave it', new DOMException('Stopped.', 'AbortError'), 'AbortError'],
  ['its name, where it has no constructor', Object.assign(new Error('?'), { constructor: undefined }), 'Error'],
])('of an error the log has %s', (_, error, type) => {
  expect(errorDetails(error)).toMatchObject({ type })
})

test('a genuine token for another server is a warning that names both, once a minute', async () => {
  const { logger, lines } = listen()
  let now = Date.now()
  const principal = bearer({ issuer: ISSUER, audience: RESOURCE, key: publicKey, clock: () => now })
  const server = makeServer({ keys: newKey(), principal, logger })
  const call = async (claims: Record<string, unknown>): Promise<unknown> => {
    const headers = { authorization: `Bearer ${await sign(claims)}` }
    return new Caller(server.fetch, { url: RESOURCE, headers }).round('unlock', {})
  }
  const warning = 'Callers bring tokens that are not for this server.'
  const warnings = (): number => lines().split(warning).length - 1
  for (let time = 0; time < 3; time++) await call({ aud: 'https://elsewhere.example.com' })
  expect(warnings()).toBe(1)
  const expected = `its claim "aud" is "https://elsewhere.example.com", and "${RESOURCE}" is expected`
  expect(lines()).toContain(JSON.stringify(expected).slice(1, -1))
  now += 60_000
  await call({ aud: 'https://elsewhere.example.com' })
  expect(warnings()).toBe(2)
  now += 60_000
  await call({ nbf: now / 1000 + 600 })
  expect(warnings()).toBe(2)
  expect(lines()).toContain('its claim')
})

test('a state of an instance with other keys is a warning with the ids of all keys', async () => {
  const { logger, lines } = listen()
  const [one, other] = [newKey(), newKey()]
  const caller = (server: ReturnType<typeof makeServer>): Caller => new Caller(server.fetch, { url: RESOURCE })
  const answered = { inputResponses: { code: accept({ code: '12345' }) } }
  const { requestState } = (await caller(makeServer({ keys: one })).round('unlock', { door: 'a' }, answered)).result
  await caller(makeServer({ keys: other, logger })).round('unlock', { door: 'a' }, { requestState })
  const [id, otherId] = [one, other].map((key) => createKeyring(key).ids[0])
  expect(lines()).toContain(`State was sealed with the key ${id}, and the keys here are ${otherId}. Give all instances`)
})

async function raw(door: (request: Request) => Promise<Response>, body: string, headers: Record<string, string> = {}) {
  const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  return door(new Request(RESOURCE, { method: 'POST', headers: { ...usual, ...headers }, body }))
}

async function initialize(door: (request: Request) => Promise<Response>, authorization: string): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'old', version: '1.0.0' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  return (await raw(door, body, { authorization })).headers.get('mcp-session-id') ?? ''
}

test('any logger with the four levels will do, and none is written to without one', async () => {
  const lines: unknown[][] = []
  const collect =
    (level: string) =>
    (...line: unknown[]) =>
      lines.push([level, ...line])
  const logger = { debug: collect('debug'), info: collect('info'), warn: collect('warn'), error: collect('error') }
  await new Caller(makeServer({ logger, keys: newKey() }).fetch).send('no/such/method')
  expect(lines).toEqual([
    ['info', { handler: 'fetch', keys: [expect.any(String)] }, 'Mounted.'],
    ['debug', { method: 'no/such/method', code: 'METHOD_UNKNOWN' }, 'A request was refused.'],
  ])
  await new Caller(makeServer({}).fetch).round('fails')
  expect(lines).toHaveLength(2)
})

test.each(['modern', 'legacy'])('of what a client of the %s era chose, a line has a short part only', async (era) => {
  const { logger, lines } = listen()
  const server = createServer({ name: 'terse', version: '1.0.0', logger })
  server.tool('fail', { description: 'Fails.', input: z.object({ text: z.string() }) }, ({ text }) => {
    throw new Error(`There is no ${text}`, { cause: text })
  })
  server.resourceTemplate('x://{name}', { name: 'x' }, async (_, { name = '' }, ctx) => {
    void ctx.step('late', () => 1)
    throw new Error(name)
  })
  const long = 'l'.repeat(1_000_000)
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: long, version: long },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const send = async (method: string, params: object) => {
    const headers = new Headers({ 'content-type': 'application/json', 'user-agent': long.slice(0, 8000) })
    if (era === 'modern') headers.set('mcp-protocol-version', '2026-07-28')
    const named: unknown = 'name' in params ? params.name : 'uri' in params ? params.uri : undefined
    if (era === 'modern') headers.set('mcp-method', method)
    if (era === 'modern' && typeof named === 'string') headers.set('mcp-name', named)
    const body = { jsonrpc: '2.0', id: 1, method, params: era === 'modern' ? { ...params, _meta: meta } : params }
    return (await server.fetch(new Request(RESOURCE, { method: 'POST', headers, body: JSON.stringify(body) }))).text()
  }
  const replies = [
    await send(long, {}),
    await send('tools/call', { name: long }),
    await send('tools/call', { name: 'fail', arguments: { text: long } }),
    await send('resources/read', { uri: `x://${long}` }),
    await send('prompts/get', { name: long }),
    await send('completion/complete', { ref: { type: 'ref/prompt', name: long }, argument: { name: long, value: '' } }),
    await send('initialize', { protocolVersion: long, capabilities: {}, clientInfo: { name: long, version: long } }),
  ]
  expect(replies).not.toContain('')
  const written = lines().split('\n').filter(Boolean)
  expect(written.length).toBeGreaterThan(4)
  for (const line of written) expect(line.length).toBeLessThan(60_000)
  expect(lines()).toContain('There is no llll')
})

class Refusal {
  reason = 'reason-in-confidence'
}

const unreadable = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error('unreadable')
    },
  },
)

test.each<[string, unknown, object]>([
  ['an object', { code: 5, detail: 'detail-in-confidence' }, { type: 'object', members: ['code', 'detail'] }],
  ['an instance of a class', new Refusal(), { type: 'Refusal', members: ['reason'] }],
  [
    'an object without a prototype',
    Object.assign(Object.create(null), { code: 5 }),
    { type: 'object', members: ['code'] },
  ],
  ['a map by secrets', { sk_4eC39HqLyjWD: 1, [`t${'x'.repeat(40)}`]: 2, 'a b': 3 }, { type: 'object', members: [] }],
  ['a list', ['in-confidence'], { type: 'Array', members: [] }],
  ['an object that cannot be read', unreadable, { type: 'object' }],
  ['null', null, { type: 'null' }],
  ['nothing', undefined, { type: 'undefined' }],
])('of %s that was thrown, the log has the names only', (_, thrown, details) => {
  expect(errorDetails(thrown)).toEqual(details)
})
