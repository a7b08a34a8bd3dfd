/** The log of a server whose standard error is a real pseudo-terminal. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openPty } from '../cli/fixtures/pty.ts'

test.each([
  ['with colours', {}, '\u001b[32mINFO \u001b[39m Listening.'],
  ['without colours where NO_COLOR says so', { NO_COLOR: '1' }, 'INFO  Listening.'],
])('at a terminal a server logs lines for people, %s', async (_, env, level) => {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-log-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const program = 'examples/first-tool/server.ts'
  const pty = openPty({ program, out: join(folder, 'out'), env: { PORT: '0', ...env }, cols: 400 })
  onTestFinished(() => pty.kill())
  await pty.see('INFO  Listening. url=http://127.0.0.1:')
  expect(pty.raw()).toContain(level)
  expect(pty.shown()).toMatch(/^\d\d:\d\d:\d\d WARN  No keys are configured/m)
  pty.kill('SIGTERM')
  await pty.see('INFO  Draining. inFlight=0')
  await pty.see('INFO  Drained.')
  expect((await pty.end()).exitCode).toBe(0)
  expect(pty.shown()).not.toContain('"level"')
})
