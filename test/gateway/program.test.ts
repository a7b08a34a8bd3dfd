/** `pannier gateway FILE`, as a process. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { proves } from '../proves.ts'
import { serve } from '../../docs/snippets/gateway.ts'
import { quickStart } from '../bundle/environment.ts'
import { pannier, startPannier } from '../cli/fixtures/program.ts'
import { accept, call as callByHand } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { call, connectClient, modernServer, stdioEntry } from './fixtures/gateways.ts'
import { sure } from './fixtures/parkedRounds.ts'
import { TABLE } from './fixtures/table.ts'

const PATIENCE = { timeout: 30_000 }
const folder = mkdtempSync(join(tmpdir(), 'pannier-gateway-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function writeConfig(servers: object, settings: object = {}): string {
  const file = join(folder, 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: servers, gateway: { admin: { port: 0 }, ...settings } }))
  return file
}

async function startProgram(file: string, ...options: readonly string[]) {
  const { child, ended } = startPannier(['gateway', file, '--port', '0', ...options], { input: null })
  onTestFinished(() => void child.kill('SIGKILL'))
  let shown = ''
  child.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const url = await vi.waitFor(() => /Serving (http:\S+)/.exec(shown)?.[1] ?? expect.fail(shown), PATIENCE)
  return { child, ended, url, shown: () => shown }
}

proves(
  'DT-19 DT-21',
  'serves a file, shows each server and how it is served, and ends all processes with SIGTERM',
  async () => {
    const ours = await modernServer()
    const file = writeConfig({
      tools: stdioEntry({ state: 'stateful' }),
      ours: { url: ours.url, pannier: { tools: { deny: ['wait'] } } },
      gone: { url: 'http://127.0.0.1:1/' },
      lost: { url: 'http://127.0.0.1:1/', headers: { authorization: '${ABSENT_TOKEN}' } },
    })
    const { child, ended, url, shown } = await startProgram(file)
    const client = await connectClient('v2', url)
    expect(await call(client, 'tools_add', { a: 1, b: 2 })).toBe('3')
    expect(await call(client, 'ours_add', { a: 1, b: 2 })).toBe('3')
    await vi.waitFor(() => expect(shown()).toMatch(TABLE), PATIENCE)
    expect(shown()).toMatch(/^tools +\d+ +2025-11-25 +stateful \(declared\) +a process per caller \(\d+\.\d s\)$/m)
    expect(shown()).toMatch(/^ours +2 +2026-07-28 +stateless \(\d+ %\) +a request each$/m)
    expect(shown()).toMatch(/^gone +not there: it cannot be reached/m)
    expect(shown()).toMatch(/^lost +left out: .*ABSENT_TOKEN/m)
    expect(shown().match(/^SERVER /gm)).toHaveLength(1)
    const admin = /Health and servers: (\S+)health/.exec(shown())?.[1]
    const health = await (await fetch(`${admin}health`)).json()
    expect(health).toMatchObject({ ready: true, servers: 3, up: 2, leftOut: 1 })
    expect(JSON.stringify(health)).toMatch(
      /\\"tools\\" keeps something.*\\"gone\\" is not there.*\\"lost\\" is left out: .*ABSENT_TOKEN/,
    )
    const servers = await (await fetch(`${admin}servers`)).text()
    expect(servers).toContain('"revision": "2026-07-28"')
    expect(servers).toMatch(/"condition": "left out",\s*"why": ".*ABSENT_TOKEN/)
    const metrics = await (await fetch(`${admin}metrics`)).text()
    expect(metrics).toContain('pannier_gateway_server_up{server="gone"} 0')
    expect(metrics).toMatch(
      /pannier_gateway_calls_total\{server="tools",method="tools\/call",tool="add",outcome="complete"\} 1/,
    )
    const called = await pannier(['call', url, 'gone_anything'])
    expect(called.status).toBe(4)
    expect(called.stderr).toContain('The server "gone" is not there: it cannot be reached')
    const listed = await pannier(['tools', `${url}/gone`])
    expect(listed).toMatchObject({ status: 4, stdout: '' })
    expect(listed.stderr).toContain('The server "gone" is not there: it cannot be reached: nothing listens there.')
    expect((await pannier(['call', url, 'invented'])).stderr).toContain('The server has no tool "invented"; it has')
    expect((await fetch(`${admin}servers`, { method: 'POST' })).status).toBe(405)
    child.kill('SIGTERM')
    expect((await ended).status).toBe(0)
  },
)

test('a server that is still starting does not hide the others, and is shown when it was tried, also by workers', async () => {
  const args = ['-e', 'setInterval(() => {}, 1000)']
  const settings = { state: 'stateful', startSeconds: 5 } // for each of the eras
  const silent = { command: process.execPath, args, pannier: settings }
  const file = writeConfig({ silent, tools: stdioEntry() })
  const started = /^silent +starting;.*\ntools +\d+ +2025-11-25 /m
  const later =
    /^Since then:\nNEEDS ATTENTION\nsilent +not there: it has not started within 5 seconds\.[^]*^\/mcp: \d+ tools/m
  const showsAll = async (...workers: string[]): Promise<void> => {
    const { shown } = await startProgram(file, ...workers)
    await vi.waitFor(() => expect(shown()).toMatch(started), PATIENCE)
    expect(shown()).not.toContain('not there')
    await vi.waitFor(() => expect(shown()).toMatch(later), PATIENCE)
    expect(shown().match(/^SERVER /gm)).toHaveLength(1)
  }
  await Promise.all([showsAll(), showsAll('--workers', '2')])
})

test('reads the file again on SIGHUP, and keeps what is not changed, with calls that wait', async () => {
  const tools = stdioEntry({ state: 'stateful' })
  const file = writeConfig({ tools })
  const { child, url, shown } = await startProgram(file)
  const client = await connectClient('v1', url)
  await call(client, 'tools_note', { text: 'milk' })
  const session = await RawSession.begin(url, { capabilities: { elicitation: {} } })
  const stream = await session.call('tools_confirm')
  const asked = await stream.next()
  const { message: parked } = await callByHand(url, 'tools_confirm')
  writeFileSync(file, '{ "mcpServers": ')
  child.kill('SIGHUP')
  await vi.waitFor(() => expect(shown()).toContain('was not used, and nothing changes'), PATIENCE)
  writeConfig({ tools, ours: { url: (await modernServer()).url } })
  child.kill('SIGHUP')
  await vi.waitFor(() => expect(shown()).toContain('was read again: 1 added (ours), 1 unchanged (tools).'), PATIENCE)
  expect(await call(client, 'ours_add', { a: 1, b: 2 })).toBe('3') // it waits for a server that is starting
  expect(await call(client, 'tools_recall')).toBe('milk')
  await session.answer(asked, accept({ sure: true }))
  await session.answer(await stream.next(), accept({ sure: true }))
  expect((await stream.rest()).at(-1)?.result).toMatchObject({ content: [{ text: 'accept true, accept true' }] })
  const { message: again } = await callByHand(url, 'tools_confirm', {}, { params: sure(parked.result) })
  const { message: last } = await callByHand(url, 'tools_confirm', {}, { params: sure(again.result) })
  expect(last.result.content[0].text).toBe('accept true, accept true')
  expect(shown()).not.toContain('next start')
  writeConfig({}, { limits: { callsAtOnce: 5 }, leaseSeconds: 30, catalogue: 'all' })
  child.kill('SIGHUP')
  await vi.waitFor(async () => expect((await client.listTools()).tools).toEqual([]), PATIENCE)
  await vi.waitFor(() => expect(shown()).toContain('mcp.json has no servers: clients get empty lists.'), PATIENCE)
  expect(shown()).toContain('gateway.leaseSeconds has changed, which counts from the next start on.')
  expect(shown()).not.toContain('gateway.limits has changed')
  expect(shown()).not.toContain('gateway.catalogue')
})

test.each([[], ['--workers', '2']])(
  'a port that is in use is told before anything is started %s',
  async (...workers) => {
    const { port } = new URL((await modernServer()).url)
    const started = join(folder, `started-${workers.length}`)
    const args = ['-e', `require('node:fs').writeFileSync(${JSON.stringify(started)}, '')`]
    const file = writeConfig({ tools: { command: process.execPath, args } })
    const { status, stderr } = await pannier(['gateway', file, '--port', port, ...workers])
    expect(status).toBe(2)
    expect(stderr).toContain(`Port ${port} of 127.0.0.1 is in use.`)
    expect(stderr).not.toContain('Worker 1')
    expect(existsSync(started)).toBe(false)
  },
)

test('with --watch a mounted secret of Kubernetes is read again when it changes', async () => {
  const mounted = join(folder, 'secret')
  // The kubelet writes a new folder, and replaces the link `..data`; the link of the file stays.
  const put = (version: string, servers: object): void => {
    mkdirSync(join(mounted, version), { recursive: true })
    writeFileSync(
      join(mounted, version, 'mcp.json'),
      JSON.stringify({ mcpServers: servers, gateway: { admin: false } }),
    )
    symlinkSync(version, join(mounted, '..data_tmp'))
    renameSync(join(mounted, '..data_tmp'), join(mounted, '..data'))
  }
  const { url: ours } = await modernServer()
  put('..2026_1', { ours: { url: ours } })
  symlinkSync('..data/mcp.json', join(mounted, 'mcp.json'))
  const { url, shown } = await startProgram(join(mounted, 'mcp.json'), '--watch')
  put('..2026_2', { theirs: { url: ours } })
  await vi.waitFor(() => expect(shown()).toContain('was read again'), PATIENCE)
  expect(await call(await connectClient('v2', url), 'theirs_add', { a: 1, b: 2 })).toBe('3')
})

test('an admin port that is in use is told with the setting for another', async () => {
  const port = Number(new URL((await modernServer()).url).port)
  const { shown } = await startProgram(writeConfig({ tools: stdioEntry() }, { admin: { port } }))
  const sentence = `There is no admin address: Port ${port} of 127.0.0.1 is in use.`
  await vi.waitFor(() => expect(shown()).toContain(sentence), PATIENCE)
  expect(shown()).toContain('Give another one with --admin-port')
})

test.each([
  ['--admin-port', ['--admin-port', '0'], {}],
  ['a variable', [], { ADMIN_PORT: '0' }],
])('several gateways with one file have an admin address each, given by %s', async (_, options, env) => {
  const port = Number(new URL((await modernServer()).url).port)
  const file = writeConfig({}, { admin: { port: `\${ADMIN_PORT:-${port}}` } })
  const { child } = startPannier(['gateway', file, '--port', '0', ...options], { input: null, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  let shown = ''
  child.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const health = await vi.waitFor(
    () => /Health and servers: (\S+health)/.exec(shown)?.[1] ?? expect.fail(shown),
    PATIENCE,
  )
  expect(await (await fetch(health)).json()).toMatchObject({ live: true })
})

test('an admin port that is none is refused', async () => {
  const { status, stderr } = await pannier(['gateway', writeConfig({}), '--admin-port', '70000'])
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'error: --admin-port must be a whole number from 0 to 65535.\n',
  })
})

test.each([
  ['v1', () => new ClientV1({ name: 'desktop', version: '1' }, { capabilities: { elicitation: {} } })],
  ['v2', () => new Client({ name: 'desktop', version: '1' }, { capabilities: { elicitation: {} } })],
])('serves a client %s on standard input and output, and asks it', async (_, create) => {
  const file = writeConfig({ tools: stdioEntry() })
  const args = ['--conditions=pannier-source', 'src/cli/main.ts', 'gateway', file, '--stdio']
  const env = { PATH: process.env['PATH'] ?? '', ...quickStart, PANNIER_LOG_LEVEL: 'silent' }
  const client = create()
  const answer = () => ({ action: 'accept' as const, content: { sure: true } })
  if (client instanceof ClientV1) client.setRequestHandler(ElicitRequestSchema, answer)
  else client.setRequestHandler('elicitation/create', answer)
  const transport = new StdioClientTransport({ command: process.execPath, args, env })
  await client.connect(transport)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toContain('tools_add')
  const result = await client.callTool({ name: 'tools_add', arguments: { a: 1, b: 2 } })
  expect(result.content).toEqual([{ type: 'text', text: '3' }])
  const confirmed = await client.callTool({ name: 'tools_confirm', arguments: {} })
  expect(confirmed.content).toEqual([{ type: 'text', text: 'accept true, accept true' }])
  await client.close()
})

test('docs/snippets/gateway.ts serves a file', async () => {
  const { gateway, url } = await serve(writeConfig({ tools: stdioEntry() }), 0)
  onTestFinished(() => gateway.drain({ deadlineMs: 0 }))
  const client = new Client({ name: 'c', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/tools`)))
  onTestFinished(() => client.close())
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('add')
})
