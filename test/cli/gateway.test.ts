/** `pannier gateway` as far as nothing is served: its file, and where files usually are. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { checkDefinitions, pinFile } from '../../src/gateway/catalog/index.ts'
import { commandOf } from '../interop/fixtures/instances.ts'
import { pannier, type Ran, startPannier } from './fixtures/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-gateway-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, ...lines: readonly string[]): void {
  writeFileSync(join(folder, name), lines.join('\n'))
}

const gateway = (args: readonly string[], env = {}): Promise<Ran> => pannier(['gateway', ...args], { cwd: folder, env })

test('a file is checked: its servers are shown, or all of its problems with file, line and key', async () => {
  write('some.json', '{ "servers": { "a": { "command": "a" },', ' "b": { "command": "${ABSENT}" } } }')
  write(
    'bad.json',
    '{ "servers": {',
    '  "a": { "url": "hunter2" },',
    '  "b": { "command": "b", "pannier": { "sate": 1 } } } }',
  )
  const [some, bad] = await Promise.all([gateway(['check', 'some.json']), gateway(['check', 'bad.json'])])
  expect(some).toMatchObject({ status: 2, stdout: expect.stringMatching(/^a +stdio[^\n]*\nb +not usable/m) })
  expect(some?.stderr).toBe(
    'error: some.json:2: servers.b.command needs the variable "ABSENT". Set it in the environment.\n',
  )
  expect(bad).toEqual({
    status: 2,
    stdout: '',
    stderr: `error: bad.json:2: servers.a.url must be a complete address that begins with http:// or https://.
  bad.json:3: servers.b.pannier.sate is not known; did you mean "state"?\n`,
  })
})

test('a file without servers is said to have none', async () => {
  write('none.json', '{ "mcpServers": {} }')
  const none = 'none.json has no servers: clients get empty lists.\n'
  expect(await gateway(['check', 'none.json'])).toMatchObject({ status: 0, stderr: none })
})

test('what nobody reads is a warning of the check, and at the start', async () => {
  write(
    'typo.json',
    '{ "gateway": { "admin": false }, "servers": {',
    '  "a": { "url": "http://127.0.0.1:1/", "headres": {} } } }',
  )
  const warning = 'warning: typo.json:2: servers.a.headres is not read; did you mean "headers"?\n'
  expect(await gateway(['check', 'typo.json'])).toMatchObject({ status: 0, stderr: warning })
  const { child, ended } = startPannier(['gateway', 'typo.json', '--port', '0'], { cwd: folder, input: null })
  child.stderr?.on('data', (chunk: Buffer) => void (chunk.toString().includes('Serving') && child.kill('SIGTERM')))
  expect((await ended).stderr).toContain(warning)
})

test('the help names the variables that gateways read', async () => {
  const { stdout } = await gateway(['--help'])
  for (const name of ['PANNIER_KEYS', 'PANNIER_ADVERTISE', 'PANNIER_PEERS', '--admin-port'])
    expect(stdout).toContain(name)
})

test('an address in place of a file is refused with the form of a file', async () => {
  const ran = await gateway(['http://127.0.0.1:1/mcp'])
  expect(ran).toMatchObject({ status: 2, stderr: expect.stringContaining('Name a file, and the server in it') })
})

test('without a file the program names those in the usual places, and starts nothing', async () => {
  const started = join(folder, 'started')
  write('.mcp.json', `{ "mcpServers": { "a": { "command": "touch", "args": ["${started}"] } } }`)
  const ran = await gateway([], { HOME: folder, XDG_CONFIG_HOME: folder })
  expect(ran).toMatchObject({ status: 2, stderr: '' })
  expect(ran.stdout).toMatch(/Nothing was started\.\n\n.*\nClaude Code +1 +pannier gateway \/.*\/\.mcp\.json\n$/)
  expect(existsSync(started)).toBe(false)
})

test('without mcp.json in the folder, accept says how to name the file', async () => {
  expect(await gateway(['accept'])).toEqual({
    status: 2,
    stdout: '',
    stderr: 'error: There is no mcp.json in this folder. Name the file that the gateway serves with --config FILE.\n',
  })
})

test('a changed definition is shown, and accepted by the name of its tool or its server', async () => {
  write('mcp.json', '{ "servers": { "files": { "command": "f" }, "mail": { "command": "m" } } }')
  const pins = pinFile(join(folder, 'mcp.pins.json'))
  for (const description of ['Once.', 'Now.']) {
    for (const server of ['files', 'mail']) {
      const tools = ['read', 'write'].map((name) => ({ name, description }))
      await pins.update((before) => checkDefinitions(before, server, { tools, policy: 'pin' }).pins)
    }
  }
  const unknown = await gateway(['accept', 'files_read', 'files_none'])
  expect(unknown).toEqual({
    status: 2,
    stdout: '',
    stderr: 'error: No definition waits to be accepted for: files_none.\n',
  })
  expect(await gateway(['accept', 'my mcp.json', 'mail'])).toEqual({
    status: 2,
    stdout: '',
    stderr: `error: "my mcp.json" is a file, and no name of a tool. Write: pannier gateway accept --config 'my mcp.json' mail\n`,
  })
  const accepted = await gateway(['accept', 'files_read', 'mail'])
  expect(accepted).toMatchObject({ status: 0, stderr: 'Accepted: files_read, mail_read, mail_write\n' })
  expect(accepted.stdout).toContain('mail_read, description:\n- Once.\n+ Now.\n')
  const left = await gateway(['accept'])
  expect(left.stdout.replace(/\b {2,}/g, ' | ')).toBe(`TOOL | SERVER | WHAT CHANGED
files_write | files | The description changed.

files_write, description:
- Once.
+ Now.
`)
})

const WITHOUT_PG = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(name, context, next) {
      if (name !== 'pg') return next(name, context)
      throw Object.assign(new Error('not here'), { code: 'ERR_MODULE_NOT_FOUND' })
    },
  })`)}`

test('where pg is not installed, a gateway with PostgreSQL says what to install, and does not start', async () => {
  const url = 'postgres://127.0.0.1:1/none'
  write('plain.json', '{ "servers": {} }')
  write('database.json', JSON.stringify({ servers: {}, gateway: { postgres: url } }))
  const env = { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${WITHOUT_PG}` }
  const ways = [
    ['plain.json', '--postgres', url],
    ['database.json'],
    ['database.json', '--workers', '2'],
    ['database.json', '--stdio'],
  ]
  const ran = await Promise.all(ways.map((args) => gateway(['--port', '0', ...args], env)))
  for (const { status, stdout, stderr } of ran) {
    expect(stdout).toBe('')
    expect(stderr).toContain('PostgreSQL needs the package pg; run `npm install pg`.')
    expect(stderr).not.toContain('Serving')
    expect(status).toBe(2)
  }
})

test('OpenAPI documents are checked: what is served, what is left out, and why one cannot be served', async () => {
  const file = { content: { 'multipart/form-data': {} } }
  const photos = { put: { requestBody: { required: true, ...file } }, get: {} }
  write('photos.json', JSON.stringify({ openapi: '3.1.0', paths: { '/photos': photos } }))
  write('old.json', '{ "swagger": "2.0" }')
  const entry = (openapi: string) => ({ openapi, url: 'http://127.0.0.1:1/v1' })
  write('apis.json', JSON.stringify({ servers: { photos: entry('photos.json') } }))
  write('old-api.json', JSON.stringify({ servers: { old: entry('./old.json') } }))
  const [apis, old] = await Promise.all([gateway(['check', 'apis.json']), gateway(['check', 'old-api.json'])])
  expect(apis).toMatchObject({ status: 0, stdout: expect.stringMatching(/^photos +openapi +http:\/\/127/m) })
  expect(apis.stderr).toMatch(/^warning: The server "photos" .* PUT \/photos is no tool\. Its body must be multipart/)
  expect(old.status).toBe(2)
  expect(old.stderr).toMatch(/^error: The server "old" cannot be served\. .*It is of Swagger 2\.0/)
})

test('other commands say who serves a document', async () => {
  write('only.json', '{ "servers": { "a": { "openapi": "a.yaml", "url": "http://a.example" } } }')
  const ran = await pannier(['tools', 'only.json#a'], { cwd: folder })
  expect(ran.stderr).toContain('only.json#a is an OpenAPI document. Serve it with: pannier gateway only.json')
})

test('a call is explained: which rule decides, and why', async () => {
  const x = commandOf(fileURLToPath(new URL('../gateway/programs/sdkTools.ts', import.meta.url)))
  const rules = {
    deny: [
      { if: 'has(args.a) && args.a > 100 && !("manager" in principal.roles)', reason: 'Too much for you.' },
      { if: 'view == "small"' },
    ],
    allow: [{ if: 'tool.ownName == "add"' }],
  }
  write('rules.json', JSON.stringify({ mcpServers: { x }, gateway: rules }))
  const explain = (...given: readonly string[]): Promise<Ran> => gateway(['explain', 'rules.json', ...given])
  const [dev, manager, view, unknown] = await Promise.all([
    explain('--as', 'role=dev', '--call', 'x_add', '{"a":101}'),
    explain('--as', 'role=dev', '--as', 'role=manager', '--call', 'x_add', '{"a":101}'),
    explain('--as', 'sub=ann', '--view', 'small', '--call', 'x_add', '{}'),
    explain('--call', 'y_add'),
  ])
  expect(dev).toEqual({
    status: 1,
    stdout: `denied by gateway.deny[0]: Too much for you.

  gateway.deny[0]: true
  gateway.deny[1]: false
  gateway.allow[0]: true
`,
    stderr: '',
  })
  expect(manager).toMatchObject({ status: 0, stdout: expect.stringContaining('allowed by gateway.allow[0]') })
  expect(view).toMatchObject({ status: 1, stdout: expect.stringContaining('denied by gateway.deny[1]') })
  expect(unknown).toMatchObject({ status: 2, stderr: expect.stringContaining('has a tool "y_add"') })
})
