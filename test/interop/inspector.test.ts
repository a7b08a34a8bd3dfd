/** The Inspector's command line, as a person would type it. */
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandOf, type Instance, startHere, STDIO_PROGRAM } from './fixtures/instances.ts'

const run = promisify(execFile)
const manifest = fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector/package.json'))
const inspector = join(dirname(manifest), 'cli/build/cli.js')

let instance: Instance

beforeAll(async () => {
  instance = await startHere()
})
afterAll(() => instance.close())

const stdio = commandOf(STDIO_PROGRAM)

describe.each([
  ['HTTP', () => [instance.url]],
  // What follows `--` goes to the server's command, options and all.
  ['stdio', () => [stdio.command, ...stdio.args]],
] as const)('the Inspector over %s', (_, target) => {
  async function inspect(...options: string[]): Promise<unknown> {
    const [command = '', ...args] = target()
    const { stdout } = await run(process.execPath, [inspector, '--cli', command, ...options, '--', ...args], {
      env: { ...process.env, ...stdio.env },
    })
    return JSON.parse(stdout)
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
