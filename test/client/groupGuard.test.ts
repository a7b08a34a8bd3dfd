/** Processes that end when whoever started them is killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { descendantsOf, isAlive } from '../gateway/fixtures/processTree.ts'

const MODULE = fileURLToPath(new URL('../../src/client/transports/processGroup.ts', import.meta.url))
const STARTS = `
const { guardGroups, startGroup } = await import(${JSON.stringify(MODULE)})
const { closeSync, openSync } = await import('node:fs')
guardGroups()
const start = () => startGroup('/bin/sh', ['-c', 'while :; do sleep 1; done'], { stdio: 'pipe' })
`

/** A process that starts groups with a guard. */
function starts(script: string, command: readonly string[] = []): ChildProcess {
  const [program, ...args] = [
    ...command,
    process.execPath,
    '--conditions=pannier-source',
    '--input-type=module',
    '-e',
    STARTS + script,
  ]
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function lineOf({ stdout }: ChildProcess): Promise<string> {
  const [line] = await once(stdout!, 'data')
  return String(line).trim()
}

test('a guard that was ended is replaced with the next group, and ends those of before, too', async () => {
  const child = starts(`
    const before = start()
    process.stdin.once('data', () => console.log(before.pid, start().pid))
    console.log('started')
  `)
  expect(await lineOf(child)).toBe('started')
  const guard = descendantsOf(child.pid!).find((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('groups='),
  )
  process.kill(guard!, 'SIGKILL')
  // It is gone from there when its parent has noticed.
  await vi.waitFor(() => expect(existsSync(`/proc/${guard}`)).toBe(false), { timeout: 10_000 })
  child.stdin!.write('go on\n')
  const groups = (await lineOf(child)).split(' ').map(Number)
  expect(groups.map(isAlive)).toEqual([true, true])
  child.kill('SIGKILL')
  await vi.waitFor(() => expect(groups.map(isAlive)).toEqual([false, false]), { timeout: 10_000 })
}, 20_000)

test('where no more files may be opened, a program is not started with that reason, and a later one has a guard', async () => {
  const script = `
    const files = []
    try {
      for (;;) files.push(openSync('/dev/null', 'r'))
    } catch {}
    const [{ message }] = await (await import('node:events')).once(start(), 'error')
    for (const file of files) closeSync(file)
    console.log(message, start().pid)
  `
  const child = starts(script, ['/bin/sh', '-c', 'ulimit -n 100; exec "$@"', 'sh'])
  const line = await lineOf(child)
  expect(line).toMatch(/^spawn \S+ EMFILE \d+$/)
  const group = Number(line.split(' ').at(-1))
  child.kill('SIGKILL')
  await vi.waitFor(() => expect(isAlive(group)).toBe(false), { timeout: 10_000 })
}, 20_000)
