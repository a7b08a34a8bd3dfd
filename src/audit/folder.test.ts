import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createKeyring, newKey } from '../state/seal/index.ts'
import { auditFolder } from './folder.ts'
import { AuditVerifier } from './verify.ts'

const DAY_MS = 86_400_000
const keyring = createKeyring(newKey())
const errors: string[] = []
const logger = () => ({ debug() {}, info() {}, warn() {}, error: (_: object, text: string) => void errors.push(text) })
const call = { kind: 'call', method: 'tools/call', route: '/mcp', server: 's', outcome: 'complete', ms: 1 } as const

let folder = ''
let now = 0
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-'))
  now = Date.parse('2026-03-01T10:00:00Z')
  errors.length = 0
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

const open = (instance = 'one', keepDays = 30) =>
  auditFolder({ folder, keyring, keepDays, logger, clock: () => now, instance })

function verified() {
  const verifier = new AuditVerifier(keyring)
  for (const name of readdirSync(folder).toSorted())
    linesOf(name).forEach((line, at) => verifier.read(line, name, at + 1))
  return verifier.result
}

const linesOf = (name: string): string[] => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n')

test('each line is in the file when write returns, and a closed log is signed to its end', () => {
  const log = open()
  log.write(call)
  expect(linesOf('audit-2026-03-01-one.jsonl')).toHaveLength(2)
  log.close()
  expect(verified()).toEqual({ entries: 1, faults: [], unsigned: [] })
})

test('entries are signed after 256 of them, and after a minute', () => {
  const log = open()
  for (let count = 0; count < 256; count++) log.write(call)
  expect(verified().unsigned).toMatchObject([{ entries: 0 }])
  log.write(call)
  expect(verified().unsigned).toMatchObject([{ entries: 1 }])
  vi.advanceTimersByTime(60_000)
  expect(verified().unsigned).toMatchObject([{ entries: 0 }])
})

test('each day has a file, which continues the chain of the day before', () => {
  const log = open()
  log.write(call)
  now += DAY_MS
  log.write(call)
  log.close()
  expect(readdirSync(folder).toSorted()).toEqual(['audit-2026-03-01-one.jsonl', 'audit-2026-03-02-one.jsonl'])
  expect(verified()).toEqual({ entries: 2, faults: [], unsigned: [] })
  rmSync(join(folder, 'audit-2026-03-01-one.jsonl'))
  expect(verified()).toMatchObject({ entries: 1, faults: [] })
})

test('a file between two others cannot be removed', () => {
  const log = open()
  for (let day = 0; day < 3; day++, now += DAY_MS) log.write(call)
  log.close()
  rmSync(join(folder, 'audit-2026-03-02-one.jsonl'))
  expect(verified().faults).toMatchObject([{ file: 'audit-2026-03-03-one.jsonl', line: 1 }])
})

test('files are deleted after their days, and other files stay', () => {
  writeFileSync(join(folder, 'audit-2026-02-27-old.jsonl'), '')
  writeFileSync(join(folder, 'audit-2026-02-28-old.jsonl'), '')
  writeFileSync(join(folder, 'notes-2020-01-01.jsonl'), '')
  open('one', 1).close()
  expect(readdirSync(folder).toSorted()).toEqual([
    'audit-2026-02-28-old.jsonl',
    'audit-2026-03-01-one.jsonl',
    'notes-2020-01-01.jsonl',
  ])
})

test('a folder that is gone and comes back is logged once, and the log continues in it', () => {
  const log = open()
  now += DAY_MS
  rmSync(folder, { recursive: true })
  log.write(call)
  log.write(call)
  expect(errors).toHaveLength(1)
  mkdirSync(folder)
  log.write(call)
  log.close()
  expect(linesOf('audit-2026-03-02-one.jsonl').length).toBeGreaterThan(1)
  expect(verified().entries).toBe(1)
})

test('instances write to files of their own', () => {
  const logs = [open('one'), open('two')]
  for (const log of logs) log.write(call)
  for (const log of logs) log.close()
  expect(readdirSync(folder)).toHaveLength(2)
  expect(verified()).toEqual({ entries: 2, faults: [], unsigned: [] })
})
