/** `pannier gateway` as far as nothing is served: its file, and where files usually are. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { checkDefinitions, pinFile } from '../../src/gateway/catalog/index.ts'
import { pannier, type Ran } from './fixtures/program.ts'

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

test('without a file the program names those in the usual places, and starts nothing', async () => {
  const started = join(folder, 'started')
  write('.mcp.json', `{ "mcpServers": { "a": { "command": "touch", "args": ["${started}"] } } }`)
  const ran = await gateway([], { HOME: folder, XDG_CONFIG_HOME: folder })
  expect(ran).toMatchObject({ status: 2, stderr: '' })
  expect(ran.stdout).toMatch(/Nothing was started\.\n\n.*\nClaude Code +1 +pannier gateway \/.*\/\.mcp\.json\n$/)
  expect(existsSync(started)).toBe(false)
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
  expect(unknown).toEqual({ status: 2, stdout: '', stderr: 'error: No changed definition waits for: files_none.\n' })
  expect(await gateway(['accept', 'files_read', 'mail'])).toMatchObject({ status: 0, stderr: '' })
  const left = await gateway(['accept'])
  expect(left.stdout.replace(/\b {2,}/g, ' | ')).toBe(`TOOL | SERVER | WHAT CHANGED
files_write | files | The description changed.

files_write, description is now:
  Now.
`)
})
