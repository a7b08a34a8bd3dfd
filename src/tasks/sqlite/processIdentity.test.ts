import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, expect, test } from 'vitest'
import { hasExited, identityOf } from './processIdentity.ts'

const children: ChildProcess[] = []
afterAll(() => children.forEach((child) => child.kill('SIGKILL')))

function start(command: string) {
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  return child
}

test('a process that lives has not exited', () => {
  expect(hasExited(identityOf(process.pid))).toBe(false)
  expect(hasExited(identityOf(process.ppid))).toBe(false)
})

test('a process that was killed has exited', async () => {
  const child = start('exec sleep 60')
  const mark = identityOf(child.pid ?? 0)
  expect(hasExited(mark)).toBe(false)
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
  expect(hasExited(mark)).toBe(true)
})

test('nothing is known about a process of another machine', async () => {
  const child = start('true')
  const mark = identityOf(child.pid ?? 0)
  await once(child, 'close')
  expect(hasExited({ ...mark, machine: 'another' })).toBe(false)
})

test('a process whose id was reused has exited, where start times are known', () => {
  const mark = identityOf(process.pid)
  const isKnown = mark.started !== ''
  expect(isKnown).toBe(process.platform === 'linux')
  expect(hasExited({ ...mark, started: '1' })).toBe(isKnown)
  expect(hasExited({ ...mark, started: '' })).toBe(false)
})

test('a zombie process has exited', async () => {
  // The inner one ends at once, and the outer one becomes a program that never asks.
  const child = start('sleep 0 & echo $!; exec sleep 60')
  const [text] = (await once(child.stdout ?? child, 'data')) as [Buffer]
  const mark = { ...identityOf(process.pid), pid: Number(text.toString()), started: '' }
  await expect.poll(() => hasExited(mark)).toBe(process.platform === 'linux')
})
