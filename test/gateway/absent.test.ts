/** What lists say of servers that were never reached. */
import { gatewayConfigOf } from 'pannier/gateway'
import { expect, test, vi } from 'vitest'
import { pannier } from '../cli/fixtures/program.ts'
import { CLIENTS, connectClient, modernServer, startGateway } from './fixtures/gateways.ts'

const gone = { url: 'http://127.0.0.1:1/' }
const KEY = 'dev.pannier/absent'
const why = 'The server "gone" is not there: it cannot be reached: nothing listens there. It is tried again.'

async function absentAt(kind: (typeof CLIENTS)[number], url: string): Promise<unknown> {
  const { _meta: meta } = (await (await connectClient(kind, url)).listTools()) as { _meta?: Record<string, unknown> }
  return meta?.[KEY]
}

test.each(CLIENTS)('the client %s reads in a list which names belong to servers that are not there', async (kind) => {
  const servers = { gone, ours: { url: (await modernServer()).url } }
  const views = { some: { tools: ['gone_*'] }, others: { tools: ['ours_*'] } }
  const { url } = await startGateway(servers, {}, { gateway: { views } })
  expect(await absentAt(kind, url)).toEqual({ gone_: why })
  expect(await absentAt(kind, new URL('/views/some', url).href)).toEqual({ gone_: why })
  expect(await absentAt(kind, new URL('/views/others', url).href)).toBeUndefined()
  expect(await absentAt(kind, `${url}/ours`)).toBeUndefined()
})

test('of a server that has come up, lists say nothing any more', async () => {
  const { url, gateway } = await startGateway({ gone })
  expect(await absentAt('v2', url)).toEqual({ gone_: why })
  await gateway.reload(await gatewayConfigOf({ mcpServers: { gone: { url: (await modernServer()).url } } }))
  await vi.waitFor(async () => expect(await absentAt('v2', url)).toBeUndefined())
})

test.each([
  ['call', 'tool'],
  ['prompt', 'prompt'],
])('`pannier %s` asks for nothing but lists where a name is not listed', async (command, kind) => {
  const methods: string[] = []
  const logger = { debug() {}, info: note, warn: note, error: note }
  function note(details: unknown): void {
    const method = (details as { method?: unknown }).method
    if (typeof method === 'string') methods.push(method)
  }
  const { url } = await startGateway({ gone, ours: { url: (await modernServer()).url } }, { logger })
  const absent = await pannier([command, url, 'gone_anything'])
  expect(absent).toMatchObject({ status: 4, stderr: expect.stringContaining(why) })
  const invented = await pannier([command, url, 'ours_invented'])
  expect(invented).toMatchObject({ status: 2, stderr: expect.stringContaining(`has no ${kind} "ours_invented"`) })
  expect(methods).toEqual([])
})
