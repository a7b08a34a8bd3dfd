/** A gateway that is behind itself: it notices, serves everything else, and says what to do. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createGateway, type Gateway, gatewayConfigOf } from 'pannier/gateway'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { longTest } from '../longTest.ts'
import { hostUntil } from '../fixtures/until.ts'
import { freePort } from '../fixtures/httpHost.ts'
import { quickStart } from '../bundle/environment.ts'
import { startPannier } from '../cli/fixtures/program.ts'
import { META, requestHeaders } from '../../src/protocol/index.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { call, connectClient, modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'
import { TABLE } from './fixtures/table.ts'

const PATIENCE = { timeout: 30_000 }
const BEHIND_ITSELF = 'is this gateway itself, or leads back to it. Remove the entry, or name another server or file.'
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'pannier-loops-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** An entry that starts a gateway with this file. */
const starting = (file: string) => ({
  command: process.execPath,
  args: ['--conditions=pannier-source', main, 'gateway', file, '--stdio'],
  env: quickStart,
})

const urlAt = (port: number): string => `http://127.0.0.1:${port}/mcp`

async function gatewayAt(port: number, mcpServers: object): Promise<Gateway> {
  const gateway = createGateway({ ...(await gatewayConfigOf({ mcpServers })), keys: KEYS, logger: quiet })
  await gateway.listen({ port, drainOnTerm: false })
  onTestFinished(() => gateway.drain({ deadlineMs: 0 }))
  return gateway
}

function conditionOf(gateway: Gateway, name: string): unknown {
  return gateway.backends.find((backend) => backend.name === name)?.connector.condition
}

async function toolsAt(url: string): Promise<readonly string[]> {
  const client = await connectClient('v2', url)
  const { tools } = await client.listTools()
  return tools.map(({ name }) => name).toSorted()
}

test('an entry that leads to the gateway itself over HTTP is not served, and everything else is', async () => {
  const ours = await modernServer()
  const port = await freePort()
  const gateway = await gatewayAt(port, { ours: { url: ours.url }, self: { url: urlAt(port) } })
  await gateway.tried()
  expect(conditionOf(gateway, 'self')).toEqual({ kind: 'down', why: `it ${BEHIND_ITSELF}` })
  expect(JSON.stringify(gateway.report().health)).toContain(BEHIND_ITSELF)
  expect(await toolsAt(urlAt(port))).toEqual(['ours_add', 'ours_confirm', 'ours_wait'])
})

test('a server that redirects the check for a loop leads it nowhere', async () => {
  const ours = await modernServer()
  const asked: (string | undefined)[] = []
  const bystander = await hostUntil((req, res) => {
    asked.push(req.url)
    res.end()
  })
  const checks: string[] = []
  const hostile = await hostUntil((req, res) => {
    const via = String(req.headers['pannier-via'])
    if (via.startsWith('another')) {
      checks.push(via)
      return void res.writeHead(307, { location: `${bystander.origin}/secret` }).end()
    }
    const headers = Object.entries(req.headers).filter(([name]) => /^(mcp-|accept$|content-type$)/.test(name))
    void buffer(req).then(async (body) => {
      const init = { headers: headers as [string, string][], method: req.method ?? 'GET' }
      const answer = await fetch(ours.url, { ...init, ...(body.length > 0 && { body }) })
      res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
      res.end(await answer.text())
    })
  })
  const port = await freePort()
  const gateway = await gatewayAt(port, { hostile: { url: hostile.url } })
  await gateway.tried()
  const headers = { ...requestHeaders('tools/list', {}, '2026-07-28'), 'pannier-via': 'another' }
  const accept = 'application/json, text/event-stream'
  const meta = { [META.version]: '2026-07-28', [META.client]: { name: 'other', version: '1' } }
  const params = { _meta: { ...meta, [META.capabilities]: {} } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params })
  const type = { 'content-type': 'application/json', accept }
  const listed = await fetch(urlAt(port), { method: 'POST', headers: { ...headers, ...type }, body })
  expect(await listed.text()).toContain('hostile_add')
  expect([checks.length, asked]).toEqual([1, []])
})

test('a ring of gateways is cut at one entry, which says so, and what they list does not grow', async () => {
  let requests = 0
  const { url } = await sessionServer(undefined, undefined, () => requests++)
  const ours = { url, pannier: { tools: { allow: ['add'] }, listSeconds: 1 } }
  const ports = [await freePort(), await freePort(), await freePort()] as const
  const nextOf = (at: number): number => ports[(at + 1) % ports.length] ?? ports[0]
  const entry = (port: number) => ({ url: urlAt(port), pannier: { listSeconds: 1 } })
  const gateways = await Promise.all(ports.map((port, at) => gatewayAt(port, { ours, next: entry(nextOf(at)) })))
  const look = async (): Promise<number> => {
    const conditions = gateways.map((gateway) => conditionOf(gateway, 'next'))
    const [cut] = conditions.flatMap((each, at) => ((each as { kind: string }).kind === 'down' ? [at] : []))
    expect(conditions[cut ?? -1]).toEqual({ kind: 'down', why: `it ${BEHIND_ITSELF}` })
    const listed = ['ours_add', 'next_ours_add', 'next_next_ours_add']
    for (const away of [0, 1, 2]) {
      const port = ports[((cut ?? 0) + 3 - away) % 3] ?? 0
      expect(await toolsAt(urlAt(port))).toEqual(listed.slice(0, away + 1).toSorted())
    }
    return cut ?? 0
  }
  await vi.waitFor(look, PATIENCE)
  const before = requests
  await vi.waitFor(() => expect(requests).toBeGreaterThan(before + 5), PATIENCE) // lists are read again
  // The entry that is cut is tried again, too, and another one may be cut in its place.
  await vi.waitFor(async () => {
    const first = await connectClient('v2', urlAt(nextOf(await look())))
    expect(await call(first, 'next_next_ours_add', { a: 1, b: 2 })).toBe('3')
  }, PATIENCE)
})

test('requests that pass as bytes end where they come back', async () => {
  const ports = [await freePort(), await freePort()] as const
  const ring = (port: number) => ({ next: { url: `${urlAt(port)}/next` } })
  const gateways = await Promise.all([gatewayAt(ports[0], ring(ports[1])), gatewayAt(ports[1], ring(ports[0]))])
  await Promise.all(gateways.map((gateway) => gateway.tried()))
  const client = await connectClient('v2', `${urlAt(ports[0])}/next`)
  await expect(client.callTool({ name: 'add', arguments: {} })).rejects.toThrow(/next/)
})

test('gateways before gateways serve what is behind them, in each way that requests take', async () => {
  const [ours, sessions] = [await modernServer(), await sessionServer()]
  const last = await startGateway({ ours: { url: ours.url }, sessions: { url: sessions.url } })
  const middle = await startGateway({ last: { url: last.url }, passed: { url: `${last.url}/ours` } })
  const first = await startGateway({ middle: { url: middle.url }, passed: { url: `${middle.url}/passed` } })
  const client = await connectClient('v2', first.url)
  expect(await call(client, 'middle_last_ours_add', { a: 1, b: 2 })).toBe('3')
  expect(await call(client, 'middle_last_sessions_add', { a: 1, b: 2 })).toBe('3')
  const alone = await connectClient('v2', `${first.url}/passed`)
  expect(await call(alone, 'add', { a: 1, b: 2 })).toBe('3')
})

/** A server of the stateless era, and the gateways that its requests name. */
async function namingServer(seen: Set<unknown>): Promise<string> {
  const { server } = await modernServer()
  const handler = server.nodeHandler()
  const { url } = await hostUntil((req, res) => {
    seen.add(req.headers['pannier-via'])
    handler(req, res)
  })
  return url
}

test('each request of a gateway names it, and one that comes back is refused with the status for loops', async () => {
  const seen = new Set<unknown>()
  const sessions = await sessionServer(undefined, undefined, (req) => seen.add(req.headers['pannier-via']))
  const { url, gateway } = await startGateway({
    sessions: { url: sessions.url },
    modern: { url: await namingServer(seen) },
  })
  await gateway.judged() // by probes, which send requests as well
  for (const path of ['sessions', 'modern'])
    expect(await call(await connectClient('v2', `${url}/${path}`), 'add', { a: 1, b: 2 })).toBe('3')
  expect([...seen]).toEqual([expect.stringMatching(/^[\w-]{12}$/)])
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
  const send = (value: string) =>
    fetch(url, { method: 'POST', headers: { ...headers, 'pannier-via': value }, body }).then(({ status }) => status)
  expect(await send(`other, ${String([...seen][0])}`)).toBe(508)
  expect(await send('other')).not.toBe(508)
})

test('a gateway that its own file starts ends at once, and the entry says why, in one process and in workers', async () => {
  const ours = await modernServer()
  const endsAtOnce = async (workers: string): Promise<void> => {
    const file = join(folder, `mcp-${workers}.json`)
    const self = { ...starting(file), pannier: { state: 'stateful' } }
    const entries = { ours: { url: ours.url }, self }
    writeFileSync(file, JSON.stringify({ mcpServers: entries, gateway: { admin: { port: 0 } } }))
    const { child, ended } = startPannier(['gateway', file, '--port', '0', '--workers', workers], {
      input: null,
      env: { PANNIER_LOG_LEVEL: 'warn' },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let shown = ''
    child.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
    await vi.waitFor(() => expect(shown).toMatch(TABLE), PATIENCE)
    expect(shown.replace(/\s+/g, ' ')).toContain(`not there: it ${BEHIND_ITSELF}`)
    expect(shown).toMatch(/^ours +3 /m)
    const started = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    expect(started.split('\n').filter((line) => line.includes(`${file} --stdio`)).length).toBeLessThan(4)
    child.kill('SIGTERM')
    await ended
  }
  await Promise.all(['1', '2'].map(endsAtOnce))
})

longTest('a ring through a program is cut before the gateway that started it', async () => {
  const whole = ['program_ours_add']
  let requests = 0
  const { url } = await sessionServer(undefined, undefined, () => requests++)
  const ours = { url, pannier: { tools: { allow: ['add'] }, listSeconds: 1 } }
  const [first, third] = [await freePort(), await freePort()]
  const file = join(folder, 'program.json')
  const again = { listSeconds: 1 }
  const entries = { ours, third: { url: urlAt(third), pannier: again } }
  writeFileSync(file, JSON.stringify({ mcpServers: entries }))
  const program = { ...starting(file), pannier: { state: 'stateless', ...again } }
  await gatewayAt(first, { program })
  await gatewayAt(third, { ours, first: { url: urlAt(first), pannier: again } })
  await vi.waitFor(async () => {
    expect(await toolsAt(urlAt(third))).toContain('first_program_ours_add')
    expect(await toolsAt(urlAt(first))).toEqual(whole)
  }, PATIENCE)
  const before = requests
  await vi.waitFor(() => expect(requests).toBeGreaterThan(before + 5), PATIENCE) // lists are read again
  expect(await toolsAt(urlAt(first))).toEqual(whole)
})

test('files that start each other end where the first one comes again', async () => {
  const ours = await modernServer()
  const [one, two] = [join(folder, 'one.json'), join(folder, 'two.json')]
  const stateful = (file: string) => ({ ...starting(file), pannier: { state: 'stateful' } })
  writeFileSync(one, JSON.stringify({ mcpServers: { two: stateful(two) }, gateway: { admin: false } }))
  const mcpServers = { ours: { url: ours.url }, one: stateful(one) }
  writeFileSync(two, JSON.stringify({ mcpServers, gateway: { admin: false } }))
  const { child } = startPannier(['gateway', one, '--port', '0'], { input: null })
  onTestFinished(() => void child.kill('SIGTERM'))
  let shown = ''
  child.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  await vi.waitFor(() => expect(shown).toMatch(TABLE), PATIENCE)
  expect(await toolsAt(/Serving (http:\S+)/.exec(shown)?.[1] ?? '')).toEqual([
    'two_ours_add',
    'two_ours_confirm',
    'two_ours_wait',
  ])
})
