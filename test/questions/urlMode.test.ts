/** Clients that open pages and show no forms get the page of a question in URL mode. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { newKey } from 'pannier/state'
import { describe, expect, onTestFinished, test } from 'vitest'
import { instancesOver } from '../tasks/fixtures/engines.ts'
import {
  ASKLESS,
  type AsklessKind,
  askless,
  byName,
  type Done,
  offerAsking,
  textOf,
  type ToolResult,
  waitingIn,
} from './fixtures/askless.ts'

interface Visit {
  readonly url: string
  readonly elicitationId?: string
}

/** What the person does with a page, before their client says that they agreed to open it. */
type Visitor = (page: Visit) => Promise<'accept' | 'decline' | 'cancel'>

interface UrlClient {
  call(name: string, args?: Record<string, unknown>): Promise<ToolResult>
  /** The ids of pages that were reported as done. */
  readonly completed: string[]
}

async function urlClient(kind: AsklessKind, url: string, visit: Visitor): Promise<UrlClient> {
  const completed: string[] = []
  const capabilities = { elicitation: { url: {} } }
  const answer = async ({ params }: { params: object }) => ({ action: await visit(params as Visit) })
  const requestInit = { headers: { 'x-name': 'ann' } }
  if (kind === 'SDK v1') {
    const client = new ClientV1({ name: 'url', version: '1' }, { capabilities })
    client.setRequestHandler(ElicitRequestSchema, answer)
    client.fallbackNotificationHandler = async ({ method, params }) => {
      if (method === 'notifications/elicitation/complete') completed.push(String(params?.['elicitationId']))
    }
    await client.connect(new HttpV1(new URL(url), { requestInit }))
    onTestFinished(() => client.close())
    return {
      completed,
      call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as ToolResult,
    }
  }
  const mode = kind === 'SDK v2' ? ({ pin: '2026-07-28' } as const) : 'legacy'
  const client = new ClientV2({ name: 'url', version: '1' }, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', answer)
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === 'notifications/elicitation/complete') completed.push(String(params?.['elicitationId']))
  }
  await client.connect(new HttpV2(new URL(url), { requestInit }))
  onTestFinished(() => client.close())
  return {
    completed,
    call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as ToolResult,
  }
}

async function serve(): Promise<{ url: string; done: Done }> {
  const done: Done = { charged: 0, deleted: [] }
  const [server] = await instancesOver('SQLite', 1, {}, { questions: true, principal: byName, keys: newKey() })
  offerAsking(server!, done)
  return { url: (await server!.listen({ drainOnTerm: false })).url, done }
}

const send = (url: string): Promise<Response> =>
  fetch(url, { method: 'POST', body: new URLSearchParams({ action: 'accept', 'field.sure': 'yes' }) })

describe.each(ASKLESS)('%s', (kind) => {
  test('opens the page, and the call ends with its result', async () => {
    const { url, done } = await serve()
    const pages: Visit[] = []
    const client = await urlClient(kind, url, async (page) => {
      pages.push(page)
      void send(page.url)
      return 'accept'
    })
    expect(textOf(await client.call('delete_branch', { branch: 'old' }))).toBe('old is deleted')
    expect(pages).toHaveLength(1)
    expect(done).toEqual({ charged: 1, deleted: ['old'] })
    if (kind === 'SDK v2') return expect(pages[0]).not.toHaveProperty('elicitationId')
    await expect.poll(() => client.completed).toEqual([pages[0]?.elicitationId])
  })

  test('says that its person did not open the page, which declines the question', async () => {
    const { url, done } = await serve()
    const client = await urlClient(kind, url, async () => 'decline')
    expect((await client.call('delete_branch', { branch: 'old' })).isError).toBe(true)
    expect(done).toEqual({ charged: 1, deleted: [] })
  })

  test('gets a question for somebody else as a text', async () => {
    const { url } = await serve()
    const client = await urlClient(kind, url, async () => 'accept')
    expect(waitingIn(await client.call('refund', { cents: 5 })).questions).toMatchObject([{ by: ['role:manager'] }])
  })
})

test('an instance that is killed between the page and the answer loses nothing', async () => {
  const servers = await instancesOver('SQLite', 2, {}, { questions: true, principal: byName, keys: newKey() })
  const done: Done = { charged: 0, deleted: [] }
  for (const server of servers) offerAsking(server, done)
  const [one, two] = await Promise.all(servers.map(async (server) => (await server.listen({ drainOnTerm: false })).url))
  let target = one!
  const balanced: typeof fetch = (input, init) =>
    fetch(String(input instanceof Request ? input.url : input).replace(one!, target), init)
  const client = new ClientV2(
    { name: 'url', version: '1' },
    { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    await servers[0]!.drain({ deadlineMs: 0, idleMs: 0 })
    target = two!
    void send((params as unknown as Visit).url.replace(one!, two!))
    return { action: 'accept' }
  })
  await client.connect(new HttpV2(new URL(one!), { requestInit: { headers: { 'x-name': 'ann' } }, fetch: balanced }))
  onTestFinished(() => client.close())
  const result = (await client.callTool({ name: 'delete_branch', arguments: { branch: 'old' } })) as ToolResult
  expect(textOf(result)).toBe('old is deleted')
  expect(done).toEqual({ charged: 1, deleted: ['old'] })
  const plain = await askless('SDK v2', two!, 'ann')
  expect(waitingIn(await plain.call('delete_branch', { branch: 'new' })).questions).toHaveLength(1)
})
