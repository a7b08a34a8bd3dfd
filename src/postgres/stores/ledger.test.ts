import { beforeAll, expect, test } from 'vitest'
import { newDatabase, runSql } from '../../../test/postgres/database.ts'
import { proves } from '../../../test/proves.ts'
import { carryStoreContract } from '../../../test/state/carryStoreContract.ts'
import { ledgerContract } from '../../../test/state/ledgerContract.ts'
import { type PostgresConnection, postgres } from '../database.ts'
import { postgresCarryStore } from './carryStore.ts'
import { postgresLedger } from './ledger.ts'

let url: string
let connection: PostgresConnection
beforeAll(async () => {
  url = await newDatabase()
  connection = postgres({ url })
  return () => connection.close()
})

/** The database's clock is not ours to set, so everything in the table grows older. */
const advance = (table: string) => async (ms: number) => {
  await runSql(url, `UPDATE pannier.${table} SET expires_at = expires_at - $1 * interval '1 millisecond'`, [ms])
}

// The database's clock goes on by itself; a slow machine must not reach the end before the test does.
const slackMs = 8000

ledgerContract('a ledger in PostgreSQL', () => ({ ledger: postgresLedger(connection), advance: advance('ledger') }), {
  slackMs,
})

carryStoreContract(
  'a carry store in PostgreSQL',
  () => ({
    store: postgresCarryStore(connection),
    advance: advance('carried'),
    inSeconds: (seconds) => Date.now() / 1000 + seconds,
  }),
  { slackMs },
)

proves('ST-11', 'of several machines that claim the same ids at once, exactly one gets each', async () => {
  const others = Array.from({ length: 3 }, () => postgres({ url }))
  const ids = Array.from({ length: 50 }, (_, at) => `shared ${at}`)
  const states = await Promise.all(
    others.map((other) => Promise.all(ids.map(async (id) => (await postgresLedger(other).claim(id, 60)).state))),
  )
  for (const at of ids.keys()) {
    expect(states.filter((list) => list[at] === 'fresh')).toHaveLength(1)
  }
  await Promise.all(others.map((other) => other.close()))
})

test('expired rows are removed', async () => {
  await postgresLedger(connection).claim('old', 60)
  await postgresCarryStore(connection).put('old', 'token', Date.now() / 1000 + 60)
  await Promise.all([advance('ledger')(100_000), advance('carried')(100_000)])
  // A store sweeps when it is first used.
  await postgresLedger(connection).claim('new', 60)
  await postgresCarryStore(connection).put('new', 'token', Date.now() / 1000 + 60)
  await expect
    .poll(() => runSql(url, 'SELECT 1 FROM pannier.ledger UNION ALL SELECT 1 FROM pannier.carried'))
    .toHaveLength(2)
})

test('the database contains digests instead of ids', async () => {
  await postgresLedger(connection).claim('a telling id', 60)
  const rows = await runSql(url, `SELECT row_to_json(l)::text AS text FROM pannier.ledger AS l`)
  expect(JSON.stringify(rows)).not.toContain('telling')
})
