/** What lists say of servers that were never reached. */
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { expect, onTestFinished, test, vi } from 'vitest'
import { pannier } from '../cli/fixtures/program.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { CLIENTS, connectClient, modernServer, silentServer, startGateway, stdioEntry } from './fixtures/gateways.ts'

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

test('of a server that has not started within the deadline of lists, lists and health say so', async () => {
  const servers = { silent: { url: await silentServer() } }
  const config = await gatewayConfigOf({ mcpServers: servers, gateway: { listDeadlineMs: 100 } })
  const gateway = createGateway({ ...config, keys: KEYS, logger: quiet })
  onTestFinished(() => gateway.drain({ deadlineMs: 0 }))
  const { url } = await gateway.listen({ drainOnTerm: false })
  const sentence = 'The server "silent" is not there: it is not up yet. It is tried again.'
  for (const kind of CLIENTS) {
    expect(await absentAt(kind, url)).toEqual({ silent_: sentence })
    await expect(absentAt(kind, `${url}/silent`)).rejects.toThrow(sentence)
  }
  const { warnings } = gateway.report().health
  expect(warnings).toEqual(['The server "silent" has not started yet. It has 60 seconds for that.'])
})

test('a list of a server that was added waits for it, too', async () => {
  const { url, gateway } = await startGateway({ gone }, {}, { gateway: { listDeadlineMs: 20_000 } })
  await gateway.reload(await gatewayConfigOf({ mcpServers: { tools: stdioEntry() } }))
  const { tools } = await (await connectClient('v1', `${url}/tools`)).listTools()
  expect(tools.map(({ name }) => name)).toContain('add')
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
