/** `pannier probe` that is told to end: nothing that it started stays behind. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { type Running, startPannier } from './fixtures/program.ts'
import { isThere } from '../probe/fixtures/processes.ts'
import { startSessionHost } from '../probe/fixtures/sessionHost.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-interrupted-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const odd = fileURLToPath(new URL('../probe/programs/nonconforming.ts', import.meta.url))
const program = (way: string) => ({ command: process.execPath, args: [odd, way] })

/** The first match in what it says beside its result. */
function said({ child }: Running, words: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve) => {
    let all = ''
    child.stderr?.on('data', (chunk) => {
      all += String(chunk)
      const found = words.exec(all)
      if (found !== null) resolve(found)
    })
  })
}

async function expectGone([, ...pids]: RegExpExecArray): Promise<void> {
  expect(pids).toHaveLength(2)
  await expect.poll(() => pids.map(Number).filter(isThere)).toEqual([])
}

const PIDS = /pids (\d+) (\d+)/

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a program that minds no signal, with its children', async (signal, status) => {
  const { command, args } = program('has grandchildren')
  const running = startPannier(['probe', '--explain', '--', command, ...args])
  const pids = await said(running, PIDS)
  running.child.kill(signal)
  expect((await running.ended).status).toBe(status)
  await expectGone(pids)
})

test('of several programs none is left, also where somebody is impatient', async () => {
  const file = join(folder, 'mcp.json')
  writeFileSync(file, JSON.stringify({ servers: { a: program('never answers'), b: program('has grandchildren') } }))
  const running = startPannier(['probe', '--explain', file])
  const pids = await said(running, /^(?=.*stdin \(a\)).*pids (\d+) (\d+)/s)
  // The first to end must not take away the care for the others.
  void said(running, /Cancelled/).then(() => running.child.kill('SIGINT'))
  running.child.kill('SIGINT')
  await running.ended
  await expectGone(pids)
})

test('a session that has begun is ended, too', async () => {
  const arrived = Promise.withResolvers<void>()
  const host = await startSessionHost({
    refuse: ({ message }) => message['method'] === 'tools/list' && arrived.resolve(),
  })
  const running = startPannier(['probe', '--method', '1', host.url])
  await arrived.promise
  running.child.kill('SIGTERM')
  expect((await running.ended).status).toBe(143)
  expect(host.asked).toEqual(['initialize', 'tools/list', 'DELETE'])
})
