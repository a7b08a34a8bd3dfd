/** Views: some of the tools of all servers, under names and descriptions of one's own. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { gatewayConfigOf } from 'pannier/gateway'
import { quiet } from '../interop/fixtures/instances.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { call, CLIENTS, connectClient, modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'
import { heardUntil, listen } from './fixtures/news.ts'

const PATIENCE = { timeout: 30_000 }

const views = {
  sums: {
    tools: ['ours_*', 'http_add'],
    deny: ['*_wait'],
    rename: { ours_add: 'sum' },
    descriptions: { ours_add: 'Adds two numbers.' },
  },
}

async function startViews(more: object = {}) {
  const ours = await modernServer()
  const servers = { ours: { url: ours.url }, http: { url: (await sessionServer()).url }, ...more }
  const { url, gateway } = await startGateway(servers, {}, { gateway: { views } })
  return { gateway, servers, base: url.replace(/\/mcp$/, '') }
}

test.each(CLIENTS)(
  'the client %s finds the tools of a view, and no others, under the names of the view',
  async (kind) => {
    const { base } = await startViews()
    const client = await connectClient(kind, `${base}/views/sums`)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['sum', 'ours_confirm', 'http_add'])
    expect(tools[0]).toMatchObject({ description: 'Adds two numbers.', inputSchema: { required: ['a', 'b'] } })
    expect(await call(client, 'sum', { a: 1, b: 2 })).toBe('3')
    expect(await call(client, 'http_add', { a: 1, b: 2 })).toBe('3')
    expect(await call(client, 'ours_confirm')).toBe('accept true, accept true')
    for (const name of ['ours_add', 'ours_wait', 'http_note'])
      await expect(call(client, name, { a: 1, b: 2 })).rejects.toThrow(`There is no tool "${name}".`)
    expect(Object.keys(client.getServerCapabilities() ?? {})).not.toContain('resources')
    expect(client.getInstructions()).toBeUndefined()
  },
)

test('what a view does not have is refused, also of a server that was never reached', async () => {
  const { base } = await startViews({ gone: { url: 'http://127.0.0.1:1/mcp' } })
  const all = await connectClient('v2', `${base}/mcp`)
  await expect(call(all, 'gone_add')).rejects.toThrow('The server "gone"')
  const client = await connectClient('v2', `${base}/views/sums`)
  await expect(call(client, 'gone_add')).rejects.toThrow('There is no tool "gone_add".')
})

test('views follow the file: they change, which clients of both eras are told, come and go while others are served', async () => {
  const { base, gateway, servers } = await startViews()
  const session = await RawSession.begin(`${base}/views/sums`)
  const told = [await session.listen(), await listen(`${base}/views/sums`, { toolsListChanged: true })]
  const client = await connectClient('v1', `${base}/views/sums`)
  const reload = async (changed: object) =>
    gateway.reload(await gatewayConfigOf({ mcpServers: servers, gateway: { views: changed } }))
  await reload({ sums: { tools: ['http_add'], rename: { http_add: 'plus' } }, late: { tools: ['ours_add'] } })
  await Promise.all(told.map((stream) => heardUntil(stream, 'tools')))
  await vi.waitFor(
    async () => expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['plus']),
    PATIENCE,
  )
  expect(await call(client, 'plus', { a: 2, b: 2 })).toBe('4')
  await expect(call(client, 'sum', { a: 1, b: 2 })).rejects.toThrow('There is no tool "sum".')
  const late = await connectClient('v2', `${base}/views/late`)
  expect(await call(late, 'ours_add', { a: 1, b: 1 })).toBe('2')
  await reload({ late: {} })
  expect((await late.listTools()).tools.length).toBeGreaterThan(3)
  expect((await fetch(`${base}/views/sums`, { method: 'POST' })).status).toBe(404)
})

test('a view that renames a tool which no server has is a warning, until a server has it', async () => {
  const url = (await modernServer()).url
  const servers = { ours: { url }, down: { url: 'http://127.0.0.1:9/' } }
  const rename = { ours_ad: 'sum', down_any: 'any' }
  const lines: string[] = []
  const logger = { ...quiet, warn: (_: object, text: string) => void lines.push(text) }
  const { gateway } = await startGateway(servers, { logger }, { gateway: { views: { sums: { rename } } } })
  await gateway.judged()
  const sentence = 'The view "sums" renames or describes "ours_ad", and no server has such a tool now.'
  const warnings = (): unknown => gateway.report().health['warnings']
  expect(warnings()).toContainEqual(expect.stringContaining(sentence))
  await vi.waitFor(() => expect(lines).toContainEqual(expect.stringContaining(sentence)), PATIENCE)
  const changed = { mcpServers: servers, gateway: { views: { sums: { rename: { ours_add: 'sum' } } } } }
  await gateway.reload(await gatewayConfigOf(changed))
  expect(JSON.stringify(warnings())).not.toContain('renames')
  // After a reload it is looked for at once, without any timer.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const again = { mcpServers: servers, gateway: { views: { sums: { rename: { ours_sub: 'less' } } } } }
  await gateway.reload(await gatewayConfigOf(again))
  await gateway.judged()
  expect(lines).toContainEqual(expect.stringContaining('renames or describes "ours_sub"'))
})

test('a pattern of "allow" or "deny" that fits no tool of a server is a warning, until the server has one', async () => {
  const url = (await modernServer()).url
  const serversWith = (deny: readonly string[]) => ({
    ours: { url, pannier: { tools: { allow: ['*', 'ad'], deny } } },
    plain: { url },
    down: { url: 'http://127.0.0.1:9/', pannier: { tools: { deny: ['delte_*'] } } },
  })
  const lines: string[] = []
  const logger = { ...quiet, warn: (_: object, text: string) => void lines.push(text) }
  const { gateway } = await startGateway(serversWith(['CONF*', 'delte_*']), { logger })
  await gateway.judged()
  const warnings = (): readonly string[] => gateway.report().health['warnings'] as readonly string[]
  const aboutPatterns = (texts: readonly string[]) => texts.filter((each) => each.includes('"tools"'))
  const sentences = ['"allow": "ad"', '"deny": "delte_*"'].map(
    (pattern) =>
      `The "tools" of the server "ours" have ${pattern}, which fits none of its tools now. Look at their names in /mcp/ours.`,
  )
  expect(aboutPatterns(warnings())).toEqual(sentences)
  await vi.waitFor(() => expect(aboutPatterns(lines)).toEqual(sentences), PATIENCE)
  await gateway.reload(await gatewayConfigOf({ mcpServers: serversWith(['confirm']) }))
  await gateway.judged()
  await vi.waitFor(() => expect(aboutPatterns(warnings())).toEqual([sentences[0]]), PATIENCE)
})
