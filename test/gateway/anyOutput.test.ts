/**
 * Tools whose output is no object. Revision 2026-07-28 allows any schema and any value; 2025-11-25 has objects alone, and
 * its clients refuse a whole list for one other schema.
 */
import { createServer, structured } from 'pannier/server'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { untilAllEnd } from './fixtures/bothEras.ts'
import { type AnyClient, type ClientKind, connectClient, startGateway } from './fixtures/gateways.ts'

const until = untilAllEnd()
const NAMES = ['names', 'either', 'count', 'nothing', 'word', 'facts', 'loose']
const loose = { type: 'object', properties: { any: true } } as const

async function startServer(): Promise<string> {
  const server = createServer({ name: 'ours', version: '1', keys: KEYS, logger: quiet })
  const described = { description: 'Gives something.' }
  const either = z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])
  server.tool('names', { ...described, output: z.array(z.string()) }, () => structured(['Ann', 'Bob']))
  server.tool('either', { ...described, output: either }, () => structured({ b: 'B' }))
  const bare = (value: unknown, text: string) =>
    ({ content: [{ type: 'text', text }], structuredContent: value }) as never
  server.tool('count', { ...described, output: z.number() }, () => bare(7, 'Seven.'))
  server.tool('nothing', { ...described, output: z.null() }, () => bare(null, 'None.'))
  server.tool('word', { ...described, output: z.string() }, () => bare('hello', 'hello'))
  server.tool('facts', { ...described, output: z.object({ n: z.number() }) }, () => structured({ n: 1 }))
  server.tool('loose', { ...described, output: loose }, () => structured({ any: 1 }))
  const { url } = await server.listen({ drainOnTerm: false })
  until(() => server.drain({ deadlineMs: 0 }))
  return url
}

interface Place {
  readonly url: string
  readonly name: (tool: string) => string
}

const places: Record<string, Place> = {}

beforeAll(async () => {
  const server = await startServer()
  const views = { some: { tools: ['*'] } }
  const { url } = await startGateway({ ours: { url: server } }, {}, { gateway: { views } }, until)
  const searched = await startGateway({ ours: { url: server } }, {}, { gateway: { catalogue: 'search' } }, until)
  const prefixed = (tool: string): string => `ours_${tool}`
  places['a server'] = { url: server, name: (tool) => tool }
  places['/mcp'] = { url, name: prefixed }
  places['/mcp/NAME'] = { url: `${url}/ours`, name: (tool) => tool }
  places['a view'] = { url: url.replace('/mcp', '/views/some'), name: prefixed }
  places['a searched catalogue'] = { url: searched.url, name: prefixed }
})

async function connected(kind: ClientKind, where: string) {
  const { url, name } = places[where] as Place
  return { client: await connectClient(kind, url), name }
}

async function schemas(client: AnyClient): Promise<unknown[]> {
  const { tools } = await client.listTools()
  return tools.map((tool) => (tool as { outputSchema?: object }).outputSchema)
}

/** What a client gets: the texts, and the structured content. */
async function got(client: AnyClient, name: string, args: object = {}): Promise<unknown[]> {
  const { content, structuredContent } = await client.callTool({ name, arguments: args })
  return [...content.map(({ text }) => text), structuredContent]
}

const LISTING = ['a server', '/mcp', '/mcp/NAME', 'a view']

describe.each(['v1', 'v2 in a session'] as const)('a client of the session era, %s', (kind) => {
  test.each(LISTING)('lists all tools at %s, and those schemas that are of objects', async (where) => {
    const { client, name } = await connected(kind, where)
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(NAMES.map(name))
    expect((await schemas(client)).map((schema) => schema !== undefined)).toEqual(NAMES.map((tool) => tool === 'facts'))
  })

  test.each(LISTING)('gets objects at %s as structured content, and everything else as text, once', async (where) => {
    const { client, name } = await connected(kind, where)
    await client.listTools() // from then on the client checks results
    expect(await got(client, name('names'))).toEqual(['["Ann","Bob"]', undefined])
    expect(await got(client, name('either'))).toEqual(['{"b":"B"}', { b: 'B' }])
    expect(await got(client, name('count'))).toEqual(['Seven.', '7', undefined])
    expect(await got(client, name('nothing'))).toEqual(['None.', 'null', undefined])
    expect(await got(client, name('word'))).toEqual(['hello', undefined])
    expect(await got(client, name('facts'))).toEqual(['{"n":1}', { n: 1 }])
    expect(await got(client, name('loose'))).toEqual(['{"any":1}', { any: 1 }])
  })

  test('finds and calls such tools in a searched catalogue', async () => {
    const { client, name } = await connected(kind, 'a searched catalogue')
    await client.listTools()
    const [, described] = await got(client, 'describe_tool', { name: name('names') })
    expect(described).toMatchObject({ tool: { outputSchema: { type: 'array' } } })
    expect(await got(client, 'call_tool', { name: name('count') })).toEqual(['Seven.', '7', undefined])
  })
})

test.each(LISTING)('a client of the stateless era gets every schema and every value at %s', async (where) => {
  const { client, name } = await connected('v2', where)
  expect(await schemas(client)).toMatchObject([
    { type: 'array' },
    { anyOf: [{ type: 'object' }, { type: 'object' }] },
    { type: 'number' },
    { type: 'null' },
    { type: 'string' },
    { type: 'object' },
    loose,
  ])
  expect(await got(client, name('names'))).toEqual(['["Ann","Bob"]', ['Ann', 'Bob']])
  expect(await got(client, name('count'))).toEqual(['Seven.', 7])
  expect(await got(client, name('nothing'))).toEqual(['None.', null])
})
