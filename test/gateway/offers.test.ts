/** Prompts, resources, templates and completion of many servers, and the transport of 2024-11-05. */
import { describe, expect, test, vi } from 'vitest'
import { sseServer } from '../client/fixtures/servers/oldServers.ts'
import {
  type AnyClient,
  call,
  CLIENTS,
  connectClient,
  modernServer,
  sessionServer,
  startGateway,
  stdioEntry,
} from './fixtures/gateways.ts'

type Listing = Record<string, { name: string; uri: string; uriTemplate: string }[]>
type Full = AnyClient &
  Record<'listPrompts' | 'listResources' | 'listResourceTemplates', () => Promise<Listing>> &
  Record<'getPrompt' | 'readResource' | 'complete', (params: object) => Promise<unknown>>

describe.each(CLIENTS)('the client %s', (kind) => {
  test('finds prompts and resources of all servers, and reads what has the same address at two of them', async () => {
    const servers = { ours: { url: (await modernServer()).url }, stdio: stdioEntry() }
    const { url } = await startGateway(servers)
    const client = (await connectClient(kind, url)) as Full
    const { prompts } = await client.listPrompts()
    expect(prompts?.map(({ name }) => name)).toEqual(['stdio_hail'])
    expect(JSON.stringify(await client.getPrompt({ name: 'stdio_hail', arguments: { name: 'Ann' } }))).toContain(
      'Hail Ann',
    )
    const { resources } = await client.listResources()
    expect(resources?.map(({ uri }) => uri)).toEqual(['pannier://ours/about://me', 'pannier://stdio/about://me'])
    const texts = await Promise.all((resources ?? []).map(({ uri }) => client.readResource({ uri })))
    expect(texts.map((text) => JSON.stringify(text)).join()).toMatch(/about ours.*about me/)
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates?.map(({ uriTemplate }) => uriTemplate)).toEqual(['item://{id}'])
    expect(JSON.stringify(await client.readResource({ uri: 'item://7' }))).toContain('item 7')
    const ref = { type: 'ref/resource', uri: 'item://{id}' }
    const completed = await client.complete({ ref, argument: { name: 'id', value: 'a' } })
    expect(completed).toMatchObject({ completion: { values: ['a1', 'a2'] } })
  })

  test('calls a server of 2024-11-05, is asked by it, and hears when its connection, and with it the call, has ended', async () => {
    const { url: sse, cut, seen } = await sseServer()
    const { url, gateway } = await startGateway({ old: { url: sse }, http: { url: (await sessionServer()).url } })
    const client = await connectClient(kind, url, {}, { elicitation: {} })
    expect(await call(client, 'old_hello')).toBe('hello')
    expect(await call(client, 'old_greet')).toMatch(/^Hello/)
    expect(gateway.backends[0]).toMatchObject({ isShared: false, connector: { condition: { kind: 'up' } } }) // its stream is a session
    const before = seen.length
    const waiting = call(client, 'old_wait').catch((error: unknown) => String(error))
    await vi.waitFor(() => expect(seen.length).toBeGreaterThan(before))
    cut()
    expect(await waiting).toMatch(/"old" has closed its connection.* may have happened/)
    expect(await call(client, 'old_hello')).toBe('hello')
  })
})
