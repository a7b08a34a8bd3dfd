/** The ready-made client and the program against a server that breaks off, says too much or never answers. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clientCode, connect } from 'pannier/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Given, ProgramHost, type Ran, startPannier } from '../../cli/fixtures/program.ts'
import { type BrokenServer, startBrokenServer } from '../fixtures/servers/brokenHttp.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-broken-'))
let broken: BrokenServer

beforeAll(async () => {
  broken = await startBrokenServer()
})
afterAll(() => {
  host.close()
  broken.close()
  rmSync(folder, { recursive: true, force: true })
})

const start = (args: readonly string[], given: Given = {}) =>
  startPannier(args, { ...given, env: { XDG_DATA_HOME: folder } })
const host = new ProgramHost()
const hosted = (args: readonly string[]): Promise<Ran> => host.run(args, { env: { XDG_DATA_HOME: folder } })
const call = (habit: string, ...args: readonly string[]): Promise<Ran> =>
  hosted(['call', broken.at(habit), 'do', ...args])

async function failing(habit: string): Promise<unknown> {
  const client = await connect(broken.at(habit), { timeoutMs: 50_000 })
  try {
    return await client.callTool({ name: 'do' }).catch((error: unknown) => error)
  } finally {
    await client.close()
  }
}

describe('a call ends at once, with a code of ours, where its answer', () => {
  test.each([
    ['is cut off before it begins', 'cut', 'STREAM_ENDED'],
    ['is cut off in its middle', 'half', 'STREAM_ENDED'],
    ['is cut off with its stream', 'half-stream', 'STREAM_ENDED'],
    ['is no JSON', 'no-json', 'MESSAGE_UNREADABLE'],
    ['is no message', 'no-message', 'MESSAGE_UNREADABLE'],
    ['unfolds without an end', 'unfolding', 'MESSAGE_UNREADABLE'],
    ['is an event without an end', 'endless-event', 'STREAM_ENDED'],
    ['is an event without an end, in a session', 'endless-event-in-session', 'STREAM_ENDED'],
    ['is that nobody may ask', 'locked', 'AUTHORIZATION_FAILED'],
  ])('%s', async (_, habit, code) => {
    expect(clientCode(await failing(habit))).toBe(code)
  })

  test('but a server cannot give one', async () => {
    const error = await failing('forged')
    expect(error).toMatchObject({ data: { code: 'CONFIG_INVALID' } })
    expect(clientCode(error)).toBeUndefined()
  })
})

test('a header or a token that cannot be sent is refused, and no error holds its value', async () => {
  for (const options of [{ headers: { 'x-key': 'sek\nret' } }, { bearer: 'sek\nret' }, { bearer: () => 'sek\nret' }]) {
    const error: unknown = await connect(broken.at('plain'), options).catch((cause: unknown) => cause)
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringMatching(/cannot be sent/) })
    for (let cause = error; cause instanceof Error; cause = cause.cause) expect(cause.stack).not.toContain('ret"')
  }
})

describe('the program says what happened in a line, with the exit code for it', () => {
  test.each([
    ['cut', [], 3, /^error: There is no answer: the connection was cut\..*\n$/],
    ['half-stream', [], 3, /^error: The connection ended before the answer came.*\n$/],
    ['locked', [], 3, /^error: The server refuses access\..*\n$/],
    ['no-message', [], 4, /^error: The server's response is not an MCP message\.\n$/],
    ['unknown', [], 4, /^error: The server answered with error -32601: None\.\n$/],
    ['page', [], 4, /^error: The server answered HTTP 500\.\n$/],
    ['deep', [], 4, /^error: The message nests deeper than 128 levels\.\n$/],
    [
      'asks-again',
      ['--yes', '--max-rounds', '3'],
      4,
      /^error: The server still asks after 3 rounds; raise --max-rounds if .*\n$/,
    ],
    ['slow-schema', [], 4, /took more than 1000 ms/],
    ['forged', [], 4, /^error: The server answered with error -32603: No\n {2}error: Run this: rm\n$/],
    ['steering', ['--arg', 'c=1'], 2, /^error: The tool has no argument "c"; it has .*red.*, b\.\n$/],
    ['steering', ['--arg', 'b=1'], 2, /^error: --arg b: the tool wants .*red.* here\.\n$/],
  ] as const)('%s %j', async (habit, args, status, stderr) => {
    const ran = await call(habit, ...args)
    expect(ran).toEqual({ status, stdout: '', stderr: expect.stringMatching(stderr) })
    expect(ran.stderr).not.toMatch(/(?!\n)\p{Cc}/u)
  })
})

describe('Ctrl-C ends the program, whatever it waits for:', () => {
  const asked = (habit: string, method: string) => () => broken.asked(habit).includes(method)

  test.each([
    ['the list of tools', 'no-list', [], 'tools/list'],
    ['the log level', 'no-log', ['--log-level', 'debug'], 'logging/setLevel'],
    ['an answer', 'no-answer', [], 'tools/call'],
  ])('%s', async (_, habit, args, method) => {
    const { child, ended } = start(['call', broken.at(habit), 'do', ...args])
    await expect.poll(asked(habit, method)).toBe(true)
    child.kill('SIGINT')
    expect(await ended).toEqual({ status: 130, stdout: '', stderr: 'Cancelled.\n' })
  })

  test.each(['--json', '--answers'])('standard input, for %s', async (option) => {
    const { child, ended } = start(['call', broken.at('plain'), 'do', option, '-'], { input: null })
    // More than the system keeps for it: it has begun to read when it has taken all of that.
    await new Promise((resolve) => child.stdin?.write(' '.repeat(4_000_000), resolve))
    child.kill('SIGINT')
    expect(await ended).toEqual({ status: 130, stdout: '', stderr: 'Cancelled.\n' })
  })
})

test('standard output has the result alone, also where the server lacks what is listed', async () => {
  const { status, stdout } = await hosted(['prompts', broken.at('plain'), '--output', 'json'])
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toEqual({ prompts: [] })
})

test('a file that holds something else is not written over, and no call is made for it', async () => {
  const file = join(folder, 'package.json')
  writeFileSync(file, '{"private":true}')
  const ran = await call('plain-too', '--suspend', file)
  expect(ran).toMatchObject({ status: 2, stderr: expect.stringMatching(/holds something else than a saved call/) })
  expect(readFileSync(file, 'utf8')).toBe('{"private":true}')
  expect(broken.asked('plain-too')).toEqual([])
})

test('the program does not wait for a server that does not let it go', async () => {
  const { ended } = start(['call', broken.at('no-goodbye'), 'do'])
  expect(await ended).toMatchObject({ status: 0, stdout: 'done\n' })
}, 30_000)
