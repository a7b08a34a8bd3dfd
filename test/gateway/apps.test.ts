/** Apps of several servers behind one address: the page of a tool is that of its own server. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ReadResourceRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, test } from 'vitest'
import { CLIENTS, connectClient, sessionServer, startGateway } from './fixtures/gateways.ts'

const PAGE = 'ui://app/page.html'
const OTHER = 'ui://app/other.html'
const FILE = 'file:///readme.md'
const mimeType = 'text/html;profile=mcp-app'

/** A server whose tool has a page at an address that other servers have as well. `isListed`: it lists the page. */
function appServer(who: string, isListed: boolean): McpServer {
  const server = new McpServer({ name: who, version: '1' }, { capabilities: { resources: {} } })
  const link = (uri: string) => ({ type: 'resource_link' as const, uri, name: 'link' })
  const _meta = { ui: { resourceUri: PAGE }, 'ui/resourceUri': PAGE }
  server.registerTool('show', { description: 'Shows.', _meta }, () => ({
    content: [
      link(PAGE),
      link(FILE),
      link(`https://${who}.example/`),
      { type: 'resource', resource: { uri: PAGE, mimeType, text: 'embedded' } },
    ],
  }))
  server.registerTool(
    'plain',
    { description: 'Has another page.', _meta: { ui: { resourceUri: `${OTHER}?${who}` } } },
    () => ({
      content: [],
    }),
  )
  const read = (uri: URL) => ({ contents: [{ uri: uri.href, mimeType, text: `${who}: ${uri.href}` }] })
  if (isListed) for (const uri of [PAGE, FILE]) server.registerResource(uri, uri, {}, read)
  else server.server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => read(new URL(params.uri)))
  return server
}

interface AppsClient {
  listTools(): Promise<{ tools: { name: string; _meta: { ui: { resourceUri: string } } }[] }>
  listResources(): Promise<{ resources: { uri: string }[] }>
  readResource(params: { uri: string }): Promise<{ contents: { uri: string; text: string }[] }>
  callTool(params: object): Promise<{ content: { uri: string; resource: { uri: string } }[] }>
}

describe.each([
  ['that list it', true],
  ['of which the second does not list it', false],
])('two servers %s have the same ui:// address', (_, isListed) => {
  test.each(CLIENTS)('each tool has the page of its own server: %s', async (kind) => {
    const [one, two] = [
      (await sessionServer(undefined, () => appServer('one', true))).url,
      (await sessionServer(undefined, () => appServer('two', isListed))).url,
    ]
    const { url } = await startGateway({ one: { url: one }, two: { url: two } })
    const client = (await connectClient(kind, url)) as unknown as AppsClient
    const { tools } = await client.listTools()
    const { resources } = await client.listResources()
    for (const who of ['one', 'two']) {
      const tool = tools.find(({ name }) => name === `${who}_show`)
      const resourceUri = `ui://pannier/${who}/app/page.html`
      expect(tool?._meta).toEqual({ ui: { resourceUri }, 'ui/resourceUri': resourceUri })
      if (who === 'one' || isListed) expect(resources.map(({ uri }) => uri)).toContain(resourceUri)
      const { contents } = await client.readResource({ uri: resourceUri })
      expect(contents).toMatchObject([{ uri: resourceUri, text: `${who}: ${PAGE}` }])

      const { content } = await client.callTool({ name: `${who}_show`, arguments: {} })
      const file = isListed ? `pannier://${who}/${FILE}` : who === 'one' ? FILE : `pannier://two/${FILE}`
      expect(content.map(({ uri, resource }) => uri ?? resource.uri)).toEqual([
        resourceUri,
        file,
        `https://${who}.example/`,
        resourceUri,
      ])
      expect((await client.readResource({ uri: file })).contents).toMatchObject([{ text: `${who}: ${FILE}` }])
    }
  })
})

test.each(CLIENTS)(
  'a page that no other server has keeps its address, and is read there though it is not listed: %s',
  async (kind) => {
    const { url: two } = await sessionServer(undefined, () => appServer('two', false))
    const { url: one } = await sessionServer(undefined, () => appServer('one', true))
    const { url } = await startGateway({ one: { url: one }, two: { url: two } })
    const client = (await connectClient(kind, url)) as unknown as AppsClient
    const tool = (await client.listTools()).tools.find(({ name }) => name === 'two_plain')
    expect(tool?._meta.ui).toEqual({ resourceUri: `${OTHER}?two` })
    const { contents } = await client.readResource({ uri: `${OTHER}?two` })
    expect(contents).toMatchObject([{ uri: `${OTHER}?two`, text: `two: ${OTHER}?two` }])
  },
)
