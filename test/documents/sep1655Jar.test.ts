/** What our client keeps for servers by SEP-1655 and what it sends back, as servers see it. */
import { connect } from 'pannier/client'
import { createServer, type Server } from 'pannier/server'
import { type Jar, type JarOptions, memoryJar } from 'pannier/state'
import { expect } from 'vitest'
import { quiet } from '../interop/fixtures/instances.ts'
import { proves } from '../proves.ts'

const SESSION = 'modelcontextprotocol.io/state/session'
const SERVER = 'modelcontextprotocol.io/state/server'

type Meta = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>

/** A server whose tool sets the names with the values of its arguments. */
function setting(): Server {
  const server = createServer({ name: 'setting', version: '1', logger: quiet })
  return server.tool('set', { description: 'Sets state.', input: { type: 'object' } }, (args, { state }) => {
    for (const [name, value] of Object.entries(args)) state.server.set(name, value)
    return 'set'
  })
}

/** What a client with this jar sends to the host, after the server has set the values in turn. */
async function sentTo(host: string, jar: Jar, ...sets: readonly object[]): Promise<Meta[]> {
  const server = setting()
  const metas: Meta[] = []
  const reach = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const message = JSON.parse(init?.body as string) as { method: string; params?: { _meta?: Meta } }
    if (message.method === 'tools/call') metas.push(message.params?._meta ?? {})
    return server.fetch(new Request(url, init))
  }
  const client = await connect(`https://${host}/mcp`, { jar, fetch: reach })
  for (const args of [...sets, {}]) await client.callTool({ name: 'set', arguments: args as Record<string, unknown> })
  await client.close()
  return metas
}

const kept = async (host: string, options: JarOptions, ...sets: readonly object[]): Promise<unknown> =>
  (await sentTo(host, memoryJar(options), ...sets)).at(-1)?.[SERVER]

proves('CS-9', 'a client that has nothing to send leaves the keys out', async () => {
  const [first, second] = await sentTo('www.example.com', memoryJar(), { theme: 'dark' })
  expect(Object.keys(first!)).not.toContain(SESSION)
  expect(Object.keys(first!)).not.toContain(SERVER)
  expect(second).toMatchObject({ [SERVER]: { theme: 'dark' } })
  expect(Object.keys(second!)).not.toContain(SESSION)
})

for (const [host, isKept] of [
  ['www.example.com', true],
  ['shop.example.co.uk', true],
  ['someone.github.io', true],
  ['github.io', false],
  ['co.uk', false],
  ['intranet', false],
  ['printer.local', false],
  ['localhost', false],
  ['app.localhost', false],
  ['127.0.0.1', false],
  ['[::1]', false],
] as const) {
  proves('CS-15 CS-16 CS-17', `state of ${host} is ${isKept ? 'kept and sent back' : 'not kept'}`, async () => {
    expect(await kept(host, {}, { theme: 'dark' })).toEqual(isKept ? { theme: 'dark' } : undefined)
  })
}

proves('CS-22 CS-24', 'what looks like an attribute is a value: the scope is the host, and all methods', async () => {
  const value = { value: 1, attributes: { 'server-scope': 'example.com', 'method-scope': 'prompts' } }
  const jar = memoryJar()
  expect((await sentTo('www.example.com', jar, { item: value })).at(-1)).toMatchObject({ [SERVER]: { item: value } })
  for (const other of ['example.com', 'other.example.com'])
    expect(JSON.stringify(await sentTo(other, jar))).not.toContain('server-scope')
})

proves('CS-23', 'a maximum age counts from the last time that the server set the value', async () => {
  let now = 0
  const jar = memoryJar({ maxAgeSeconds: 60, clock: () => now })
  await sentTo('www.example.com', jar, { theme: 'dark' })
  now = 59_000
  expect((await sentTo('www.example.com', jar)).at(-1)).toMatchObject({ [SERVER]: { theme: 'dark' } })
  now = 61_000
  expect(Object.keys((await sentTo('www.example.com', jar)).at(-1)!)).not.toContain(SERVER)
  expect(() => memoryJar({ maxAgeSeconds: 34_560_001 })).toThrow('34560000')
})

proves('CS-25', 'a name and its value have 4096 bytes, a server 20 names, and a client 300', async () => {
  const fits = 'x'.repeat(4096 - 'n"n"'.length + 1)
  expect(await kept('www.example.com', {}, { n: fits }, { n: `${fits}x` })).toEqual({ n: fits })
  const names = Array.from({ length: 21 }, (_, at) => ({ [`name${at}`]: at }))
  const sent = await kept('www.example.com', {}, ...names)
  expect(Object.keys(sent as object)).toHaveLength(20)
  expect(sent).toHaveProperty('name20')
  const jar = memoryJar()
  const twenty = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`name${at}`, at]))
  for (let at = 0; at < 16; at++) await sentTo(`www.shop${at}.com`, jar, twenty)
  expect(await jar.list()).toHaveLength(300)
})
