/** Stores whose file another process has locked. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { sqliteCarryStore } from './carryStore.ts'
import { sqliteLedger } from './ledger.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-locked-'))
const path = join(folder, 'state.db')
const [ledger, carry] = [sqliteLedger({ path }), sqliteCarryStore({ path })]
afterAll(() => {
  ledger.close()
  carry.close()
  rmSync(folder, { recursive: true, force: true })
})

test.each<[string, () => Promise<unknown>, () => Promise<unknown>, unknown]>([
  ['a claim', () => ledger.claim('one', 60), () => ledger.claim('one', 60), { state: 'running' }],
  [
    'a settled claim',
    () => ledger.settle('one', 'paid'),
    () => ledger.claim('one', 60),
    { state: 'done', value: 'paid' },
  ],
  ['a released claim', () => ledger.release('two'), () => ledger.claim('two', 60), { state: 'fresh' }],
  ['a state', () => carry.put('a', 'token', 9e9), () => carry.get('a'), 'token'],
  ['the removal of a state', () => carry.delete('a'), () => carry.get('a'), undefined],
])('%s is written when its promise resolves', async (_, write, read, expected) => {
  const outside = new DatabaseSync(path)
  onTestFinished(() => outside.close())
  await ledger.claim('two', 60)
  outside.exec('BEGIN IMMEDIATE')
  let isWritten = false
  const writing = write().then(() => (isWritten = true))
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
  expect(isWritten).toBe(false)
  outside.exec('ROLLBACK')
  await writing
  expect(await read()).toEqual(expected)
})
