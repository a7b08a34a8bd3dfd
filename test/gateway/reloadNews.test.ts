/** A reload of several gateways, as their clients notice it: one notification for a change, and limits that apply. */
import { gatewayConfigOf } from 'pannier/gateway'
import { localBus } from 'pannier/server'
import { expect, test, vi } from 'vitest'
import { call as callByHand, type Wire } from '../fixtures/modernClient.ts'
import type { MessageStream } from '../interop/fixtures/messageStream.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'
import { listen } from './fixtures/news.ts'

const URI = 'about://me'

test('one reload of three gateways is one notification of each list for each client', async () => {
  const bus = localBus()
  const [kept, removed] = await Promise.all([modernServer(), sessionServer()])
  const ours = { url: kept.url }
  const servers = { ours, more: { url: removed.url } }
  const gateways = await Promise.all([1, 2, 3].map(() => startGateway(servers, { bus })))
  const [first = expect.fail()] = gateways
  const session = await RawSession.begin(first.url)
  await session.request('resources/subscribe', { uri: URI })
  const wanted = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [URI] }
  const heard = [await listen(first.url, wanted), await session.listen()].map(collect)
  const config = await gatewayConfigOf({ mcpServers: { ours } })
  await Promise.all(gateways.map(({ gateway }) => gateway.reload(config)))
  const countOf = (methods: readonly string[], news: string): number =>
    methods.filter((method) => method === `notifications/${news}`).length
  for (const methods of heard)
    await vi.waitFor(() => expect(countOf(methods, 'prompts/list_changed')).toBeGreaterThan(0))
  // What the gateways have published before comes before this.
  bus.publish({ kind: 'updated', uri: URI })
  for (const methods of heard) await vi.waitFor(() => expect(countOf(methods, 'resources/updated')).toBeGreaterThan(0))
  for (const methods of heard)
    for (const list of ['tools', 'prompts']) expect(countOf(methods, `${list}/list_changed`)).toBe(1)
})

/** The methods of all messages of a stream, as they come. */
function collect(stream: MessageStream): string[] {
  const methods: string[] = []
  const read = async (): Promise<void> => {
    for (;;) methods.push(String(((await stream.next()) as { method?: string }).method))
  }
  read().catch(() => {}) // the stream has ended
  return methods
}

test('limits of the file apply after a reload, also at an address that had none, and end with the next one', async () => {
  const servers = { ours: { url: (await modernServer()).url } }
  const { url, gateway } = await startGateway(servers)
  const set = async (limits: object): Promise<void> =>
    gateway.reload(await gatewayConfigOf({ mcpServers: servers, gateway: { limits } }))
  const answers = async (at: string, tool: string): Promise<Wire[]> => {
    const given: Wire[] = []
    for (const _ of [1, 2, 3]) given.push((await callByHand(at, tool, { a: 1, b: 2 })).message)
    return given
  }
  const isRefused = ({ error }: Wire): boolean =>
    String(error?.message).startsWith('Too many requests: at most 2 per minute')
  expect((await answers(url, 'ours_add')).filter(isRefused)).toEqual([])
  await set({ requestsPerMinute: 2 })
  expect((await answers(url, 'ours_add')).map(isRefused)).toEqual([false, false, true])
  expect((await answers(`${url}/ours`, 'add')).map(isRefused)).toEqual([true, true, true])
  await set({})
  expect((await answers(url, 'ours_add')).filter(isRefused)).toEqual([])
})
