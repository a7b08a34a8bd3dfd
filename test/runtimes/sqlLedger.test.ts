/** A ledger over SQL that answers by requests: the SQLite of a Durable Object in workerd, and PostgreSQL. */
import { newKey, type RunSql, sqlLedger } from 'pannier/state'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onD1, onNeon, onTurso } from '../../docs/snippets/ledgers.ts'
import { accept, Caller } from '../docs/fixtures/caller.ts'
import { newDatabase } from '../postgres/database.ts'
import { ledgerContract } from '../state/ledgerContract.ts'
import { startWorkerd, type Workerd } from './workerd.ts'

const DATE = '2025-09-15'
let runtime: Workerd

beforeAll(async () => {
  runtime = await startWorkerd({
    entry: 'test/runtimes/sqlWorker.ts',
    compatibilityDates: [DATE],
    hasNode: false,
    bindings: { PANNIER_KEYS: newKey() },
    sqlObjects: 'Claims',
  })
})
afterAll(() => runtime?.close())

const url = (path: string) => new URL(path, runtime.urls.get(DATE)).href

const inWorkerd: RunSql = async (statement, parameters) => {
  const response = await fetch(url('/sql'), { method: 'POST', body: JSON.stringify({ statement, parameters }) })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as never
}

let nowMs = 1_000_000
const timed = (run: RunSql) => ({
  ledger: sqlLedger(run, { clock: () => nowMs }),
  advance: (ms: number) => void (nowMs += ms),
})

// The SQLite of D1 is that of Durable Objects.
const d1 = {
  prepare: (sql: string) => ({
    bind: (...args: []) => ({ all: async () => ({ results: await inWorkerd(sql, args) }) }),
  }),
}
ledgerContract('a ledger in the SQLite of a Durable Object, in the form of D1', () => timed(onD1(d1)))

const turso = { execute: async ({ sql, args }: Turso) => ({ rows: await inWorkerd(sql, args) }) }
type Turso = Parameters<Parameters<typeof onTurso>[0]['execute']>[0]
test('the same in the form of Turso', async () => {
  const ledger = sqlLedger(onTurso(turso))
  expect(await ledger.claim('turso', 60)).toEqual({ state: 'fresh' })
  await ledger.settle('turso', { paid: true })
  expect(await ledger.claim('turso', 60)).toEqual({ state: 'done', value: { paid: true } })
})

let pool: pg.Pool | undefined
afterAll(() => pool?.end())

ledgerContract('a ledger in PostgreSQL, in the form of Neon', async () => {
  const database = new pg.Pool({ connectionString: await newDatabase() })
  pool = database
  return timed(onNeon({ query: async (text, values) => (await database.query(text, values)).rows }))
})

test('two requests at once with one state run the work once, in a Worker without modules of Node', async () => {
  const caller = new Caller(fetch, { url: url('/mcp') })
  const asked = await caller.round('order')
  const again = { requestState: asked.result.requestState, inputResponses: { sure: accept({ sure: true }) } }
  const answers = await Promise.all([1, 2].map(() => caller.round('order', {}, again)))
  const texts = answers.map(({ result }) => result.content?.[0]?.text)
  expect(texts).toContain('Order 1')
  expect(texts).not.toContain('Order 2')
  const { result } = await caller.round('order', {}, again)
  expect(result.content?.[0]?.text).toBe('Order 1')
})

test('a claim whose table could not be created tries again', async () => {
  let isAway = true
  const ledger = sqlLedger((...statement) => (isAway ? Promise.reject(new Error('away')) : inWorkerd(...statement)))
  await expect(ledger.claim('away', 60)).rejects.toThrow('away')
  isAway = false
  expect(await ledger.claim('away', 60)).toEqual({ state: 'fresh' })
})
