/** The program at a real terminal: it asks, draws progress, and ends at Ctrl-C. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { commandOf, type RunningServer, startServer } from '../client/fixtures/servers/start.ts'
import { pannier as run } from './fixtures/program.ts'
import { KEYS, openPty, type Pty } from './fixtures/pty.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-at-terminal-'))
const done = join(folder, 'done')
const running: Pty[] = []
let kitchen: RunningServer

beforeAll(async () => {
  kitchen = await startServer('pannierServer', { DONE: done })
})
afterEach(() => {
  for (const pty of running.splice(0)) pty.kill()
})
afterAll(() => {
  kitchen.close()
  rmSync(folder, { recursive: true, force: true })
})

function pannier(...args: readonly string[]): Pty {
  return atTerminal(90, ...args)
}

function atTerminal(cols: number, ...args: readonly string[]): Pty {
  const out = join(folder, `out-${args.join('-').replace(/\W+/g, '')}`)
  const pty = openPty({ program: 'src/cli/main.ts', args, out, cols, env: { XDG_DATA_HOME: folder } })
  running.push(pty)
  return pty
}

test('a question is asked there, and the result goes to standard output', async () => {
  const pty = pannier('call', kitchen.url, 'cook')
  await pty.see('What shall it be?')
  await pty.see('How do you answer?')
  pty.press(KEYS.enter)
  await pty.see('dish')
  pty.press(KEYS.ctrlU, 'goulash', KEYS.enter)
  await pty.see('Send')
  pty.press(KEYS.enter)
  expect(await pty.end()).toEqual({ exitCode: 0, stdout: 'Here is your goulash.\n' })
})

test('Escape in a form cancels the question, and the call fails because of that', async () => {
  const pty = pannier('call', kitchen.url, 'cook', '--no-jar')
  await pty.see('How do you answer?')
  pty.press(KEYS.escape)
  expect(await pty.end()).toEqual({ exitCode: 5, stdout: '' })
})

test.each(['pannierServer', 'sdkV1Server'] as const)('Ctrl-C in a form ends the call of %s', async (maker) => {
  const pty = pannier('call', 'cook', '--', ...commandOf(maker, 'stdio'))
  await pty.see('How do you answer?')
  pty.press(KEYS.ctrlC)
  expect(await pty.end()).toEqual({ exitCode: 130, stdout: '' })
  expect(pty.shown()).toMatch(/Cancelled\.\r\n$/)
})

test('Ctrl-C in a form of a saved call leaves it as it was', async () => {
  const saved = join(folder, 'saved.json')
  await run(['call', kitchen.url, 'cook', '--suspend', saved], { env: { XDG_DATA_HOME: folder } })
  const before = readFileSync(saved, 'utf8')
  const pty = pannier('resume', saved)
  await pty.see('How do you answer?')
  pty.press(KEYS.ctrlC)
  expect(await pty.end()).toEqual({ exitCode: 130, stdout: '' })
  expect(readFileSync(saved, 'utf8')).toBe(before)
})

test('a terminal that does not know its size is taken for a usual one', async () => {
  const pty = atTerminal(0, 'call', kitchen.url, 'cook')
  await pty.see('How do you answer?')
  await pty.see('Fill in the form')
  pty.press(KEYS.enter)
  await pty.see('dish')
  pty.press(KEYS.enter)
  await pty.see('Send')
  pty.press(KEYS.enter)
  expect(await pty.end()).toEqual({ exitCode: 0, stdout: 'Here is your soup.\n' })
})

test('progress is a bar that goes away, and Ctrl-C cancels the call on the server', async () => {
  const pty = pannier('call', kitchen.url, 'simmer')
  await pty.see('[######------------------]  25% on the stove')
  pty.press(KEYS.ctrlC)
  expect(await pty.end()).toEqual({ exitCode: 130, stdout: '' })
  const cleared = `\r${String.fromCharCode(27)}[K`
  expect(pty.raw().split(cleared).at(-2)).toMatch(/25% on the stove(\^C)?$/)
  expect(pty.raw().split(cleared).at(-1)).toBe('Cancelled.\r\n')
  await expect.poll(() => readFileSync(done, 'utf8')).toBe('simmering\ncancelled\n')
})
