import { expect, test } from 'vitest'
import { isTest, listFiles, readTexts } from '../../scripts/repository.ts'
import { fixedWaits } from './fixedWaits.ts'

/** What has to wait for a time, and why nothing tells that it has passed. */
const allowed: Readonly<Record<string, string>> = {
  'test/tasks/contract/crashes.ts': 'leases end by the clock of the store, before any worker looks at them',
  'test/tasks/contract/leases.ts': 'a lease that is renewed lasts longer than one lease, and nothing happens meanwhile',
  'test/tasks/survival/outage.test.ts': 'the store is away for longer than anybody waits for a lock',
}

const importsTest = /import \{[^}]*\b(test|proves)\b[^}]*\} from/

test('no test waits for a fixed time', () => {
  const files = [...readTexts(listFiles().filter((path) => /\.tsx?$/.test(path)))]
  const tests = new Map(files.filter(([path, text]) => isTest(path) || importsTest.test(text)))
  const waits = fixedWaits(tests)
  const places = waits.filter(({ path }) => !(path in allowed)).map(({ path, line, ms }) => `${path}:${line}: ${ms} ms`)
  expect(places, 'Wait for an event, or use fake timers.').toEqual([])
  expect(waits.map(({ path }) => path)).toEqual(Object.keys(allowed))
})

const imported = "import { setTimeout as pause } from 'node:timers/promises'\n"

test.each([
  [`${imported}await pause(500)`, 500],
  ["import { setTimeout } from 'node:timers/promises'\nawait setTimeout(100)", 100],
  [`${imported}const A_MS = 300\nconst B_MS = A_MS * 2\nfor (;;) await pause(B_MS + 1)`, 601],
  [`${imported}import { LEASE_MS } from './lease.ts'\nawait pause(LEASE_MS / 2)`, Number.POSITIVE_INFINITY],
  [`${imported}const WAIT_MS = amount(50, 2000)\nawait pause(WAIT_MS)`, 2000],
  ['await new Promise((resolve) => setTimeout(resolve, 700))', 700],
  ['const settled = () => new Promise((done) => { setTimeout(() => done(1), 1e3) })', 1000],
  ['await scene.sleep(6000)', 6000],
])('the check finds %j', (text, ms) => {
  expect(fixedWaits(new Map([['a.test.ts', text]]))).toMatchObject([{ path: 'a.test.ts', ms }])
})

test.each([
  ['a moment', `${imported}await pause(20)`],
  ['a time that is given', `${imported}const wait = (ms: number) => pause(ms)`],
  ['a random time', 'await new Promise((resolve) => setTimeout(resolve, Math.random() * 500))'],
  ['a time that a signal ends', `${imported}await pause(10_000, undefined, { signal })`],
  ['what happens later', 'setTimeout(() => server.close(), 500)'],
  ['fake timers', 'await vi.advanceTimersByTimeAsync(60_000)'],
  ['a poll', 'await vi.waitFor(() => expect(calls).toBe(1), { timeout: 30_000 })'],
])('the check lets %s pass', (_, text) => {
  expect(fixedWaits(new Map([['a.test.ts', text]]))).toEqual([])
})
