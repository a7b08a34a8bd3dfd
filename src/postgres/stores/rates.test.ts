import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Caller } from '../../../test/docs/fixtures/caller.ts'
import { newDatabase, runSql } from '../../../test/postgres/database.ts'
import { proves } from '../../../test/proves.ts'
import { createServer } from '../../server/index.ts'
import { postgres, type PostgresConnection } from '../database.ts'
import { postgresRates } from './rates.ts'

let url: string
let connections: PostgresConnection[]
beforeAll(async () => {
  url = await newDatabase()
  connections = [postgres({ url }), postgres({ url })]
  return () => Promise.all(connections.map((connection) => connection.close()))
})

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** One instance of a server whose callers are who they say. */
function instance(connection: PostgresConnection) {
  const server = createServer({
    name: 'limited',
    version: '1.0.0',
    logger: silent,
    principal: ({ header }) => ({ id: header('x-user') ?? '' }),
    limits: { requestsPerMinute: 4, store: postgresRates(connection) },
  }).tool('echo', { description: 'Echoes.' }, () => 'echo')
  return server.fetch
}

async function statusesOf(caller: Caller, calls: number): Promise<number[]> {
  const statuses: number[] = []
  for (let call = 0; call < calls; call++) statuses.push((await caller.round('echo')).status)
  return statuses
}

describe('requests that are counted in PostgreSQL', () => {
  proves('MRTR-45', 'a caller has one limit over all instances, and another caller has their own', async () => {
    const instances = connections.map(instance)
    const as = (user: string) => new Caller(instances, { headers: { 'x-user': user } })
    expect(await statusesOf(as('ann'), 6)).toEqual([200, 200, 200, 200, 429, 429])
    expect(await statusesOf(as('bob'), 2)).toEqual([200, 200])
    const rows = await runSql(url, 'SELECT key FROM pannier.rates')
    expect(JSON.stringify(rows)).not.toMatch(/ann|bob/)
  })

  test('are counted at once by several instances, and none is lost', async () => {
    const stores = connections.map(postgresRates)
    const counts = stores.flatMap((store) => Array.from({ length: 10 }, () => store.count('carl', 7)))
    const waits = await Promise.all(counts)
    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(7)
  })

  test('are allowed again when the minute is over', async () => {
    const [store, other] = connections.map(postgresRates)
    expect([await store?.count('dora', 1), (await store?.count('dora', 1)) ?? 0]).toEqual([
      0,
      expect.closeTo(60_000, -4),
    ])
    await runSql(url, 'UPDATE pannier.rates SET expire = expire - 60000')
    expect(await other?.count('dora', 1)).toBe(0)
  })

  test('are forgotten once their minute is over, when somebody else is counted', async () => {
    const [store, other] = connections.map(postgresRates)
    await store?.count('dora', 5)
    await runSql(url, 'UPDATE pannier.rates SET expire = expire - 91000')
    await other?.count('eve', 5)
    const rows = () => runSql<{ key: string }>(url, 'SELECT key FROM pannier.rates')
    await vi.waitFor(async () => expect(await rows()).toHaveLength(1), { timeout: 5000 })
  })

  test('are counted by each instance for itself while the database does not answer', { timeout: 4000 }, async () => {
    const frozen = createTcpServer(() => {}).listen(0, '127.0.0.1')
    await once(frozen, 'listening')
    onTestFinished(() => void frozen.close())
    const { port } = frozen.address() as AddressInfo
    const connection = postgres({ url: `postgres://nobody@127.0.0.1:${port}/none` })
    const caller = new Caller(instance(connection), { headers: { 'x-user': 'ann' } })
    expect(await statusesOf(caller, 6)).toEqual([200, 200, 200, 200, 429, 429])
  })

  test('are counted by each instance for itself while the database cannot be reached', async () => {
    const nowhere = postgres({ url: 'postgres://nobody@127.0.0.1:1/none' })
    const caller = new Caller(instance(nowhere), { headers: { 'x-user': 'ann' } })
    expect(await statusesOf(caller, 6)).toEqual([200, 200, 200, 200, 429, 429])
    await nowhere.close()
  })
})
