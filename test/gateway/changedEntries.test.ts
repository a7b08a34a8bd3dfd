/** Entries that change, or go, while calls of their servers are under way. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Gateway, gatewayConfigOf } from 'pannier/gateway'
import { call as send } from '../fixtures/modernClient.ts'
import { type AnyClient, call, connectClient, startGateway, stdioEntry } from './fixtures/gateways.ts'
import { sure, textOf } from './fixtures/parkedRounds.ts'
import { isAlive } from './fixtures/processTree.ts'
import { json, said, sessionScript } from './fixtures/sessionScript.ts'

const PATIENCE = { timeout: 30_000 }
const CHANGED = { timeoutSeconds: 98 }

/** Answers "go" with the id of its process; where it gets a folder, when there is a file "go" in it. It makes "began". */
const PROGRAM = `
  const { existsSync, writeFileSync } = require('node:fs')
  const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...result }))
  const info = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' } }
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    if (method === 'initialize') return answer(id, { result: info })
    if (method === 'tools/list') return answer(id, { result: { tools: [{ name: 'go', inputSchema: { type: 'object' } }] } })
    if (method !== 'tools/call') return answer(id, { error: { code: -32601, message: 'No such method' } })
    const result = { content: [{ type: 'text', text: String(process.pid) }] }
    const { folder } = params.arguments
    if (folder === undefined) return answer(id, { result })
    writeFileSync(folder + '/began', '')
    const looking = setInterval(() => {
      if (!existsSync(folder + '/go')) return
      clearInterval(looking)
      answer(id, { result })
    }, 10)
  })
`
const slow = (pannier: object) => ({ command: process.execPath, args: ['-e', PROGRAM], pannier })

/** A call of "go" that has begun, and is held until "release" is called. */
async function heldCall(client: AnyClient) {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-held-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const running = call(client, 'slow_go', { folder })
  running.catch(() => {})
  await vi.waitFor(() => expect(existsSync(join(folder, 'began'))).toBe(true), PATIENCE)
  return { running, release: () => writeFileSync(join(folder, 'go'), '') }
}

async function reload(gateway: Gateway, mcpServers: object): Promise<void> {
  await gateway.reload(await gatewayConfigOf({ mcpServers }))
}

test.each(['stateful', 'stateless'])(
  'a running call of a %s program whose entry changes ends as it would have, and the next one gets another process',
  async (state) => {
    const { url, gateway } = await startGateway({ slow: slow({ state }) })
    const client = await connectClient('v1', url)
    const { running, release } = await heldCall(client)
    await reload(gateway, { slow: slow({ state, ...CHANGED }) })
    const next = await call(client, 'slow_go')
    release()
    const before = await running
    expect(before).not.toBe(next)
    await vi.waitFor(() => expect(isAlive(Number(before))).toBe(false), PATIENCE)
    expect(isAlive(Number(next))).toBe(true)
  },
)

test('a running call of a program whose entry is removed ends as it would have, and no other one begins', async () => {
  const { url, gateway } = await startGateway({ slow: slow({ state: 'stateful' }) })
  const client = await connectClient('v1', url)
  const { running, release } = await heldCall(client)
  await reload(gateway, {})
  await expect(call(client, 'slow_go')).rejects.toThrow('no tool')
  release()
  const before = Number(await running)
  await vi.waitFor(() => expect(isAlive(before)).toBe(false), PATIENCE)
})

test('a call in a session over HTTP whose entry changes ends as it would have, and then its session', async () => {
  const held: (() => void)[] = []
  const server = await sessionScript({
    call: (request, res) => void held.push(() => json(res, request, said('went'))),
  })
  const entry = (more: object) => ({ http: { url: server.url, pannier: { state: 'stateful', ...more } } })
  const { url, gateway } = await startGateway(entry({}))
  const client = await connectClient('v1', url)
  const running = call(client, 'http_go')
  await vi.waitFor(() => expect(held).toHaveLength(1), PATIENCE)
  const { headers } = server.of('POST', 'tools/call')[0]!
  const isEnded = (): boolean =>
    server.of('DELETE').some((ended) => ended.headers['mcp-session-id'] === headers['mcp-session-id'])
  await reload(gateway, entry(CHANGED))
  const next = call(client, 'http_go')
  await vi.waitFor(() => expect(held).toHaveLength(2), PATIENCE)
  held[1]!()
  expect(await next).toBe('went')
  expect(isEnded()).toBe(false)
  held[0]!()
  expect(await running).toBe('went')
  await vi.waitFor(() => expect(isEnded()).toBe(true), PATIENCE)
})

test('a call that waits for its client goes on although the entry of its server changes', async () => {
  const { url, gateway } = await startGateway({ stdio: stdioEntry() })
  const round = async (brought: object = {}) =>
    (await send(url, 'stdio_confirm', {}, { params: { ...brought } })).message
  const first = await round()
  await reload(gateway, { stdio: stdioEntry({ state: 'stateful', ...CHANGED }) })
  const second = await round(sure(first.result))
  const third = await round(sure(second.result))
  expect(textOf(third.result)).toBe('accept true, accept true')
})

test('a gateway that stops ends the processes of entries that changed, too', async () => {
  const { url, gateway } = await startGateway({ slow: slow({ state: 'stateful' }) })
  const client = await connectClient('v1', url)
  const pid = Number(await call(client, 'slow_go'))
  await heldCall(client)
  await reload(gateway, { slow: slow({ state: 'stateful', ...CHANGED }) })
  expect(isAlive(pid)).toBe(true)
  await gateway.drain({ deadlineMs: 100 })
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), PATIENCE)
})
