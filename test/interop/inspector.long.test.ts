/** The Inspector's command line, as a person would type it. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandOf, type Instance, startHere, STDIO_PROGRAM } from './fixtures/instances.ts'

const run = promisify(execFile)
const manifest = fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector/package.json'))
const inspector = join(dirname(manifest), 'clients/launcher/build/index.js')

/** It keeps files in the home folder. */
const home = mkdtempSync(join(tmpdir(), 'pannier-inspector-'))

let instance: Instance

beforeAll(async () => {
  instance = await startHere()
})
afterAll(() => {
  instance.close()
  rmSync(home, { recursive: true })
})

const stdio = commandOf(STDIO_PROGRAM)

const overHttp = () => [instance.url]
const overStdio = () => [stdio.command, ...stdio.args]

describe.each([
  ['HTTP', 'legacy', overHttp],
  ['HTTP', 'modern', overHttp],
  ['stdio', 'legacy', overStdio],
  ['stdio', 'modern', overStdio],
] as const)('the Inspector over %s in the %s era', (_, era, target) => {
  async function inspect(...options: string[]): Promise<unknown> {
    const chosen = ['--protocol-era', era, '--format', 'json', ...options]
    // What follows `--` is the address, or the server's command, options and all.
    const { stdout } = await run(process.execPath, [inspector, '--cli', ...chosen, '--', ...target()], {
      env: { ...process.env, ...stdio.env, HOME: home, USERPROFILE: home },
    })
    return (JSON.parse(stdout) as { result: unknown }).result
  }

  test('lists the tools', async () => {
    const { tools } = (await inspect('--method', 'tools/list')) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toContain('echo')
  })

  test('calls a tool', async () => {
    expect(await inspect('--method', 'tools/call', '--tool-name', 'add', '--tool-arg', 'a=1', 'b=2')).toMatchObject({
      structuredContent: { sum: 3 },
    })
  })
})
