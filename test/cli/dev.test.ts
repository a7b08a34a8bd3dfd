/** `pannier dev`: a server that starts again when its files change, at a real terminal and with clients of the official SDK. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as SessionClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as SessionTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, onTestFinished, test } from 'vitest'
import { root } from '../../scripts/repository.ts'
import { rows } from '../amount.ts'
import { freePort } from '../fixtures/httpHost.ts'
import { startPannier } from './fixtures/program.ts'
import { KEYS, openPty, type Pty } from './fixtures/pty.ts'

const SERVER = `
import { createServer } from 'pannier/server'
import * as z from 'zod'

export function createMyServer() {
  const server = createServer({ name: 'mine', version: '0.1.0' })
  server.tool('name', { description: 'Tells which run answers.' }, async (_, ctx) => {
    const { sure } = await ctx.ask('sure', { message: 'Sure?', schema: z.object({ sure: z.boolean() }) })
    return sure ? 'first' : 'no'
  })
  return server
}
`
const LISTENS = `
import { createMyServer } from './server.ts'

await createMyServer().listen({ port: 3000 })
`

/** A project with these files, and with this repository as its installed package. */
function project(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-dev-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/pannier'))
  for (const name of ['zod', 'express'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  const all = { 'package.json': '{ "name": "@me/mine", "type": "module" }', 'server.ts': SERVER, ...files }
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text)
  return folder
}

/** What the tool answers next is told by the file that is written. */
function change(folder: string, from: string, to: string, name = 'server.ts'): void {
  writeFileSync(join(folder, name), readFileSync(join(folder, name), 'utf8').replace(from, to))
}

async function develop(folder: string, file: string): Promise<{ pty: Pty; url: string }> {
  const port = await freePort()
  const args = ['dev', join(folder, file), '--port', String(port)]
  const pty = openPty({ program: 'src/cli/main.ts', args, out: join(folder, 'out'), cols: 200 })
  onTestFinished(() => pty.kill('SIGTERM'))
  return { pty, url: `http://127.0.0.1:${port}/mcp` }
}

/** A call whose question is answered when `answer` is called. */
async function waitingCall(to: Transport): Promise<{ answer: () => void; text: Promise<unknown>; client: Client }> {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const client = new Client(
    { name: 'dev', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
  )
  client.setRequestHandler('elicitation/create', async () => {
    asked.resolve()
    await answer.promise
    return { action: 'accept', content: { sure: true } }
  })
  await client.connect(to)
  onTestFinished(() => client.close())
  const text = client.callTool({ name: 'name', arguments: {} }).then(({ content }) => content)
  await asked.promise
  return { answer: answer.resolve, text, client }
}

const said = (text: string): unknown => [{ type: 'text', text }]
const http = (url: string): Transport => new StreamableHTTPClientTransport(new URL(url))

test('a call that waits for its client continues in the run after a change, at the same address', async () => {
  const folder = project({ 'http.ts': LISTENS })
  const { pty, url } = await develop(folder, 'http.ts')
  await pty.see(`Serving ${url}`)
  const { answer, text, client } = await waitingCall(http(url))
  change(folder, "'first'", "'second'")
  await pty.see('server.ts has changed.')
  await pty.see('http.ts was started again, at the same address.')
  answer()
  expect(await text).toEqual(said('second'))
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['name'])
})

test('a call of a session that waits for its client is answered after a change, too', async () => {
  const folder = project({ 'http.ts': LISTENS })
  const { pty, url } = await develop(folder, 'http.ts')
  await pty.see(`Serving ${url}`)
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const client = new SessionClient({ name: 'dev', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, async () => {
    asked.resolve()
    await answer.promise
    return { action: 'accept', content: { sure: true } }
  })
  await client.connect(new SessionTransport(new URL(url)))
  onTestFinished(() => client.close())
  const result = client.callTool({ name: 'name', arguments: {} })
  await asked.promise
  change(folder, "'first'", "'second'")
  await pty.see('was started again')
  answer.resolve()
  expect((await result).content).toEqual(said('second'))
})

test('its entries can be pasted: each is one line, and a client can use it', async () => {
  const folder = project({ 'http.ts': LISTENS })
  const { pty, url } = await develop(folder, 'http.ts')
  await pty.see('starts again when one of its files changes.')
  const lines = pty.shown().replaceAll('\r', '').split('\n')
  expect(lines).toContain(`  claude mcp add --transport http mine ${url}`)
  const entries = lines.filter((line) => line.startsWith('  {')).map((line) => JSON.parse(line))
  expect(entries).toEqual([
    { mcpServers: { mine: { url } } },
    { servers: { mine: { type: 'http', url } } },
    { mcpServers: { mine: { command: process.execPath, args: expect.arrayContaining(['dev', '--stdio']) } } },
    { servers: { mine: { type: 'stdio', command: process.execPath, args: expect.any(Array) } } },
  ])
  const transport = new StdioClientTransport({ ...entries[2].mcpServers.mine, stderr: 'pipe' })
  let shown = ''
  transport.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const { answer, text } = await waitingCall(transport)
  change(folder, "'first'", "'second'")
  await expect.poll(() => shown).toContain('was started again')
  answer()
  expect(await text).toEqual(said('second'))
})

test('an error is shown with file and line, and the run before serves until it is mended', async () => {
  const folder = project({ 'http.ts': LISTENS })
  const { pty, url } = await develop(folder, 'http.ts')
  await pty.see(`Serving ${url}`)
  change(folder, 'const server =', 'const server = =')
  await pty.see('server.ts:6')
  await pty.see('http.ts has failed. It starts again when one of its files changes. The run before serves until then.')
  const { answer, text } = await waitingCall(http(url))
  answer()
  expect(await text).toEqual(said('first'))
  change(folder, 'const server = =', 'none()\n  const server =')
  await pty.see('ReferenceError: none is not defined')
  await pty.see('at createMyServer (server.ts:6:3)')
  await pty.see('has failed.')
  expect(pty.shown()).not.toContain('node:internal')
  change(folder, 'none()\n', '')
  await pty.see('was started again')
})

const EXPRESS = `
import express from 'express'
import { createMyServer } from './server.ts'

const app = express()
app.all('/mcp', createMyServer().nodeHandler())
app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
`

const FILES: readonly [string, string, string][] = [
  ['calls stdio', 'mine.ts', "import { createMyServer } from './server.ts'\nawait createMyServer().stdio()"],
  ['mounts its server in Express', 'mine.ts', EXPRESS],
  ['exports a function that makes a server', 'server.ts', SERVER],
  ['exports a server', 'mine.ts', "import { createMyServer } from './server.ts'\nexport default createMyServer()"],
]

test.each(rows(FILES, 2))('a file that %s is served over HTTP', async (_, file, text) => {
  const { pty, url } = await develop(project({ [file]: text }), file)
  await pty.see(`Serving ${url}`)
  const call = await waitingCall(http(url))
  call.answer()
  expect(await call.text).toEqual(said('first'))
})

test('Ctrl-C ends it with its program', async () => {
  const { pty, url } = await develop(project({ 'http.ts': LISTENS }), 'http.ts')
  await pty.see(`Serving ${url}`)
  pty.press(KEYS.ctrlC)
  await pty.end()
  await expect(fetch(url)).rejects.toThrow()
})

test('a program without a server, a program whose port is taken and a missing file are said plainly', async () => {
  const folder = project({
    'none.ts': 'console.log(1)',
    'taken.ts': "import('node:http').then((h) => h.createServer().listen(process.env.TAKEN))",
  })
  const { child, ended } = startPannier(['dev', 'none.ts', '--port', '0'], { cwd: folder, input: null })
  child.stderr?.on('data', (chunk: Buffer) => void (chunk.includes('none.ts neither') && child.kill('SIGTERM')))
  expect((await ended).stderr).toContain('none.ts neither starts a server nor exports one. It starts again when')
  const missing = startPannier(['dev', 'missing.ts'], { cwd: folder })
  expect(await missing.ended).toMatchObject({ status: 2, stderr: `error: There is no file ${folder}/missing.ts.\n` })
})
