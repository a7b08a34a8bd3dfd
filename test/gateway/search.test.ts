/** `"catalogue": "search"`: three tools in place of all, through which all are found, described and called. */
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type AnyClient,
  call,
  CLIENTS,
  connectClient,
  modernServer,
  sessionServer,
  startGateway,
} from './fixtures/gateways.ts'

const PATIENCE = { timeout: 30_000 }
const THREE = ['find_tools', 'describe_tool', 'call_tool']

async function startSearch(settings: object = { catalogue: 'search' }) {
  const ours = await modernServer()
  const output = z.object({ letters: z.number() })
  ours.server.tool(
    'count',
    { description: 'Counts letters.', input: z.object({ text: z.string() }), output },
    (args) => ({
      content: [],
      structuredContent: { letters: args.text.length },
    }),
  )
  const http = { url: (await sessionServer()).url, pannier: { tools: { deny: ['note'] } } }
  const { url, gateway } = await startGateway({ ours: { url: ours.url }, http }, {}, { gateway: settings })
  return { ours, gateway, url }
}

async function structured(client: AnyClient, name: string, args: object): Promise<unknown> {
  return (await client.callTool({ name, arguments: args })).structuredContent
}

describe.each(CLIENTS)('the client %s', (kind) => {
  test('finds, describes and calls tools, and gets what they answer, report and ask', async () => {
    const { url, ours } = await startSearch()
    const client = await connectClient(kind, url)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(THREE)
    expect(await structured(client, 'find_tools', { query: 'counts letters', limit: 1 })).toMatchObject({
      tools: [{ name: 'ours_count', description: 'Counts letters.' }],
    })
    expect(await structured(client, 'describe_tool', { name: 'ours_count' })).toMatchObject({
      tool: { name: 'ours_count', inputSchema: { required: ['text'] }, outputSchema: { required: ['letters'] } },
    })
    const use = (name: string, args: object = {}) => ({ name, arguments: args })
    expect(await structured(client, 'call_tool', use('ours_count', { text: 'four' }))).toEqual({ letters: 4 })
    expect(await client.callTool({ name: 'call_tool', arguments: use('http_fail') })).toMatchObject({
      isError: true,
      content: [{ text: 'It broke.' }],
    })
    expect(await call(client, 'call_tool', use('ours_confirm'))).toBe('accept true, accept true')
    const seen: unknown[] = []
    await call(client, 'call_tool', use('http_steps'), { onprogress: (progress: unknown) => seen.push(progress) })
    expect(seen).toHaveLength(2)
    const cancel = new AbortController()
    const waiting = call(client, 'call_tool', use('ours_wait'), { signal: cancel.signal })
    await vi.waitFor(() => expect(ours.states).toEqual(['waiting']), PATIENCE)
    cancel.abort()
    await expect(waiting).rejects.toThrow()
    await vi.waitFor(() => expect(ours.states).toEqual(['waiting', 'cancelled']), PATIENCE)
  })
})

test('what is denied, unknown or no call at all is told in a result that the model reads', async () => {
  const { url } = await startSearch()
  const client = await connectClient('v2', url)
  const { tools } = (await structured(client, 'find_tools', { query: '', limit: 100 })) as { tools: { name: string }[] }
  expect(tools.map(({ name }) => name)).toContain('http_recall')
  expect(tools.map(({ name }) => name)).not.toContain('http_note')
  for (const [name, args, sentence] of [
    ['describe_tool', { name: 'http_note' }, 'There is no tool of that name.'],
    ['call_tool', { name: 'http_note', arguments: { text: 'a' } }, 'There is no tool of that name.'],
    ['call_tool', { name: 'ours_ad' }, 'There is no tool of that name.'],
    ['call_tool', { name: 'ours_add', arguments: 3 }, 'The argument "arguments" must be an object.'],
    ['call_tool', {}, 'The argument "name" must be a string.'],
  ] as const) {
    const { isError, content } = await client.callTool({ name, arguments: args })
    expect([name, isError, content[0]?.text]).toEqual([name, true, expect.stringContaining(sentence)])
  }
  await expect(call(client, 'http_note', { text: 'a' })).rejects.toThrow('There is no tool "http_note".')
})

test('a view may be searched while all tools are listed elsewhere, and says what that saves', async () => {
  const views = { sums: { tools: ['*_add'], rename: { ours_add: 'sum' }, catalogue: 'search' } }
  const { url, gateway } = await startSearch({ views })
  const client = await connectClient('v1', url.replace('/mcp', '/views/sums'))
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(THREE)
  expect(await structured(client, 'find_tools', { query: '' })).toMatchObject({ total: 2 })
  expect(await call(client, 'call_tool', { name: 'sum', arguments: { a: 1, b: 2 } })).toBe('3')
  const unknown = await client.callTool({
    name: 'call_tool',
    arguments: { name: 'ours_add', arguments: { a: 1, b: 2 } },
  })
  expect(unknown.isError).toBe(true)
  expect(gateway.catalogues).toEqual([
    { path: '/mcp', tools: expect.any(Number) },
    { path: '/views/sums', tools: 2, saved: { before: expect.any(Number), after: expect.any(Number) } },
  ])
})
