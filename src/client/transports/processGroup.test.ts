import { once } from 'node:events'
import { expect, test } from 'vitest'
import { endGroup, startGroup } from './processGroup.ts'

const HOUR_MS = 3_600_000
const waits = ['-e', 'process.stdin.resume()']
const ignoresInput = ['-e', 'setInterval(() => undefined, 1_000)']

test('a group that ends with its input has ended, however long it would be waited for', async () => {
  const child = startGroup(process.execPath, waits, { stdio: ['pipe', 'ignore', 'ignore'] })
  await endGroup(child, HOUR_MS)
  expect(child.exitCode).toBe(0)
})

test('a group that a signal has ended needs no waiting either', async () => {
  const child = startGroup(process.execPath, ignoresInput, { stdio: 'ignore' })
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
  await endGroup(child, HOUR_MS)
  expect(child.signalCode).toBe('SIGTERM')
})

test('a program that is not there has nothing to end', async () => {
  const child = startGroup('/no/such/program', [], { stdio: 'pipe' })
  await once(child, 'error')
  await endGroup(child, HOUR_MS)
  expect(child.pid).toBeUndefined()
})

test('a program that ignores its input and SIGTERM is killed, and lets go of its pipes', async () => {
  const stubborn = ['-e', 'process.on("SIGTERM", () => {}); console.log(1); setInterval(() => undefined, 1_000)']
  const child = startGroup(process.execPath, stubborn, { stdio: 'pipe' })
  await once(child.stdout!, 'data')
  const exited = once(child, 'exit') // Killed at once; a busy machine lets go of it later.
  await endGroup(child, 20)
  expect(await exited).toEqual([null, 'SIGKILL'])
  expect([child.stdin, child.stdout, child.stderr].map((stream) => stream?.destroyed)).toEqual([true, true, true])
})

test('while groups run this process listens once for its own end, and then no longer', async () => {
  const before = process.listenerCount('exit')
  const children = [1, 2].map(() => startGroup(process.execPath, waits, { stdio: ['pipe', 'ignore', 'ignore'] }))
  expect(process.listenerCount('exit')).toBe(before + 1)
  await endGroup(children[0]!)
  expect(process.listenerCount('exit')).toBe(before + 1)
  await endGroup(children[1]!)
  expect(process.listenerCount('exit')).toBe(before)
})

test('a group that has ended by itself is forgotten: its number may be that of other processes later', async () => {
  const before = process.listenerCount('exit')
  const child = startGroup(process.execPath, ['-e', ''], { stdio: 'ignore' })
  await once(child, 'exit')
  expect(process.listenerCount('exit')).toBe(before)
})
