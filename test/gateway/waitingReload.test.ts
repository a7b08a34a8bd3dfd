/** Calls that wait for their clients while the entries of their servers are removed or changed, with the gateway as a process. */
import type { Client as ClientV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { isLong, rows } from '../amount.ts'
import { call as byHand } from '../fixtures/modernClient.ts'
import { newDatabase } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { serversOfBothEras, untilAllEnd } from './fixtures/bothEras.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, type ClientKind, CLIENTS, connectClient, modernServer, stdioEntry } from './fixtures/gateways.ts'
import { sdkStatelessServer } from './fixtures/statelessServers.ts'
import { FRESH, WORKERS } from './fixtures/workers.ts'

const until = untilAllEnd()
let servers: Record<string, object> = {}

beforeAll(async () => {
  // Callers without a name have half of the processes of each worker.
  const stdio = stdioEntry({ state: 'stateful', maxProcesses: 64 })
  const sdk = { url: (await sdkStatelessServer(until)).url } // gives no state with its questions
  servers = { ...(await serversOfBothEras(until)).servers, stdio, sdk }
})

/** Calls a tool that asks twice; gives its text, once the questions are answered. */
async function begin(kind: ClientKind, url: string, tool: string, args: object = {}) {
  const client = await connectClient(kind, url, FRESH)
  const asked = Promise.withResolvers<void>()
  const answering = Promise.withResolvers<void>()
  const answer = async () => {
    asked.resolve()
    await answering.promise
    return { action: 'accept', content: { sure: true } } as const
  }
  if (client instanceof ClientV1) client.setRequestHandler(ElicitRequestSchema, answer)
  else (client as unknown as ClientV2).setRequestHandler('elicitation/create', answer)
  const result = call(client, tool, args).catch((error: unknown) => `failed: ${String(error)}`)
  await Promise.race([asked.promise, result.then((text) => expect.fail(text))])
  return { client, result, answer: () => answering.resolve() }
}

/** `at`: the address for what stands after `/mcp`. In the short form each client uses one address of each server, by turns. */
async function beginAll(at: (path: string) => string) {
  const cells = CLIENTS.flatMap((kind, row) =>
    Object.keys(servers).flatMap((server, column) => {
      const both = [
        { cell: `${kind}, ${server}, /mcp`, kind, url: at(''), tool: `${server}_confirm` },
        { cell: `${kind}, ${server}, /mcp/${server}`, kind, url: at(`/${server}`), tool: 'confirm' },
      ]
      return isLong ? both : both.filter((_, turn) => (row + column + turn) % 2 === 0)
    }),
  )
  return Promise.all(cells.map(async ({ cell, kind, url, tool }) => ({ cell, ...(await begin(kind, url, tool)) })))
}

/** What the tool says; that of the SDK asks once. */
const expectedOf = (cell: string): string => (cell.includes('sdk') ? 'accept true' : 'accept true, accept true')

const changedEntry = (entry: object): object => {
  const { pannier } = entry as { pannier?: object }
  return { ...entry, pannier: { ...pannier, timeoutSeconds: 98 } }
}

/** The same servers, each with another setting. */
const changedServers = (): object =>
  Object.fromEntries(Object.entries(servers).map(([name, entry]) => [name, changedEntry(entry)]))

const FORMS = [
  ['two workers', WORKERS],
  ['one process', {}],
] as const

test.each(rows<(typeof FORMS)[number]>(FORMS, 1))(
  'calls that wait are answered although their entries are now changed, with %s',
  async (_, options) => {
    const gateway = await startGatewayProcess(servers, options)
    const calls = await beginAll((path) => gateway.url + path)
    await gateway.reload(changedServers())
    for (const { answer } of calls) answer()
    const ended = await Promise.all(calls.map(async ({ cell, result }) => [cell, await result]))
    expect(Object.fromEntries(ended)).toEqual(Object.fromEntries(calls.map(({ cell }) => [cell, expectedOf(cell)])))
  },
  60_000,
)

const STORES: readonly (readonly [string, () => Promise<object>])[] = [
  ['without PostgreSQL', async () => ({})],
  ['with PostgreSQL', async () => ({ postgres: await newDatabase() })],
]

test.each(rows(STORES, 1))(
  'calls that wait are answered by way of either of two gateways although their entries are changed, %s',
  async (_, more) => {
    const settings = { admin: false, ...(await more()) }
    const gateways = [await startGatewayProcess(servers, { settings })]
    const env = { PANNIER_PEERS: new URL(gateways[0]?.url ?? '').origin }
    gateways.push(await startGatewayProcess(servers, { settings, env }))
    const balanced = new Map<string, string>()
    for (const path of ['', ...Object.keys(servers).map((name) => `/${name}`)]) {
      const balancer = await startBalancer()
      onTestFinished(() => balancer.close())
      balancer.targets = gateways.map(({ url }) => url + path)
      balanced.set(path, balancer.url)
    }
    const calls = await beginAll((path) => balanced.get(path) ?? '')
    for (const gateway of gateways) await gateway.reload(changedServers())
    for (const { answer } of calls) answer()
    const ended = await Promise.all(calls.map(async ({ cell, result }) => [cell, await result]))
    expect(Object.fromEntries(ended)).toEqual(Object.fromEntries(calls.map(({ cell }) => [cell, expectedOf(cell)])))
  },
  60_000,
)

test('where an entry is removed no other call begins, at any address, and where it is back its sessions go on', async () => {
  const gateway = await startGatewayProcess(servers)
  const waiting = await begin('v1', `${gateway.url}/stdio`, 'confirm')
  await gateway.reload({ other: { url: (await modernServer()).url } })
  for (const kind of CLIENTS) await expect(connectClient(kind, `${gateway.url}/stdio`)).rejects.toThrow('/mcp/NAME')
  const { status, message } = await byHand(`${gateway.url}/stdio`, 'add', { a: 1, b: 2 })
  expect(status).toBe(200)
  expect(message.error.message).toBe('There is no tool "add".')
  await expect(call(waiting.client, 'add', { a: 1, b: 2 })).rejects.toThrow('There is no tool "add".')
  expect((await waiting.client.listTools()).tools).toEqual([])
  await gateway.reload(servers)
  waiting.answer()
  expect(await waiting.result).toBe('accept true, accept true')
  expect(await call(waiting.client, 'add', { a: 1, b: 2 })).toBe('3')
})

test('the answer to a call whose entry is removed gets an error that says that there is no such tool', async () => {
  const gateway = await startGatewayProcess(servers)
  const waiting = await begin('v2', gateway.url, 'stdio_confirm')
  await gateway.reload({ other: { url: (await modernServer()).url } })
  waiting.answer()
  expect(await waiting.result).toContain('There is no tool "stdio_confirm".')
})

test('what a file denies cannot be called at the server of before, while the one in its place is not there', async () => {
  const { url } = await sdkStatelessServer()
  const gateway = await startGatewayProcess({ ours: { url } })
  const forged = { params: { requestState: 'forged' } }
  expect((await byHand(gateway.url, 'ours_add', { a: 1, b: 2 }, forged)).message.result.content[0].text).toBe('3')
  const ours = { url: 'http://127.0.0.1:9/mcp', pannier: { tools: { deny: ['add'] } } }
  await gateway.reload(JSON.stringify({ mcpServers: { ours }, gateway: { admin: false } }))
  const { message } = await byHand(gateway.url, 'ours_add', { a: 1, b: 2 }, forged)
  expect(message.error?.message).toBe('There is no tool "ours_add".')
})

test('what a file denies from now on cannot be called, whatever state a client brings', async () => {
  const { url } = await sdkStatelessServer()
  const file = (denied: readonly string[], tools: readonly string[]): string =>
    JSON.stringify({
      mcpServers: { ours: { url, pannier: { tools: { deny: denied } } }, kept: { url } },
      gateway: { admin: false, views: { some: { tools } } },
    })
  const gateway = await startGatewayProcess({ ours: { url } })
  const forged = { params: { requestState: 'forged' } }
  await gateway.reload(file([], ['kept_add']))
  const view = gateway.url.replace(/mcp$/, 'views/some')
  expect((await byHand(view, 'kept_add', { a: 1, b: 2 }, forged)).message.result.content[0].text).toBe('3')
  await gateway.reload(file(['add'], ['kept_wait']))
  for (const [at, name] of [
    [gateway.url, 'ours_add'],
    [`${gateway.url}/ours`, 'add'],
    [view, 'kept_add'],
  ] as const) {
    const { message } = await byHand(at, name, { a: 1, b: 2 }, forged)
    expect(message.error?.message).toBe(`There is no tool "${name}".`)
  }
})
