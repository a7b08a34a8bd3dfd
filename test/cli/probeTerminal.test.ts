/** `pannier probe` at a real terminal: it tells whom it waits for, and takes that line away again. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openPty } from './fixtures/pty.ts'
import { json, startHost } from '../probe/fixtures/host.ts'
import { plainAnswer } from '../probe/fixtures/legacyAnswers.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-probe-terminal-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const CLEARED = `\r${String.fromCharCode(27)}[K`

test('of the servers of a file, those that are waited for are named until the table comes', async () => {
  const held = Promise.withResolvers<void>()
  const [quick, slow] = await Promise.all([
    startHost(({ message }, res) => json(res, plainAnswer(message))),
    startHost(async ({ message }, res) => {
      await held.promise
      json(res, plainAnswer(message))
    }),
  ])
  const file = join(folder, 'mcp.json')
  writeFileSync(file, JSON.stringify({ servers: { quick: { url: quick.url }, slow: { url: slow.url } } }))
  const pty = openPty({ program: 'src/cli/main.ts', args: ['probe', file], out: join(folder, 'out') })
  try {
    await pty.see('[------------------------]   0% of 2 servers, waiting for quick, slow')
    await pty.see('[############------------]  50% of 2 servers, waiting for slow')
    held.resolve()
    const { exitCode, stdout } = await pty.end()
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^quick +STATELESS .*\n(.*\n)*slow +STATELESS /m)
    expect(pty.raw().split(CLEARED).at(-1)).toBe('')
  } finally {
    pty.kill()
  }
})
