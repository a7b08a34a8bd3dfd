/** Workers of a gateway with PostgreSQL: each has a lease of its own, and one that is killed loses its callers to the others. */
import { expect, test, vi } from 'vitest'
import { newDatabase, runSql } from '../postgres/database.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, type ClientKind, connectClient, sessionServer, stdioEntry } from './fixtures/gateways.ts'
import { allServe, FRESH, linksOf, WORKERS, workersOf } from './fixtures/workers.ts'

const PATIENCE = { timeout: 30_000 }

/** As two workers, where nothing else is said. */
async function start(form: { args?: readonly string[]; settings: object } = WORKERS) {
  const http = { url: (await sessionServer()).url, pannier: { state: 'stateful' } }
  const database = await newDatabase()
  const settings = { ...form.settings, postgres: database }
  const gateway = await startGatewayProcess({ http, stdio: stdioEntry() }, { ...form, settings })
  return { gateway, database }
}

test.each(['v1', 'v2'] as const)(
  'what a session over HTTP keeps for the client %s outlives the worker that has it, and a process does not',
  async (kind: ClientKind) => {
    const { gateway } = await start()
    const client = await connectClient(kind, gateway.url, FRESH)
    for (const [place, server] of ['http', 'stdio'].entries()) {
      await call(client, `${server}_note`, { text: 'milk' })
      for (let time = 0; time < 4; time++) expect(await call(client, `${server}_recall`)).toBe('milk')
      const links = await linksOf(gateway, place)
      expect(links.toSorted((a, b) => a - b)).toEqual([0, 1])
      const at = links.indexOf(1)
      process.kill((await workersOf(gateway))[at]?.pid ?? 0, 'SIGKILL')
      await vi.waitFor(() => expect(gateway.shown()).toContain(`Worker ${at + 1} serves again.`), PATIENCE)
      await allServe(gateway)
      const kept = server === 'http' ? 'milk' : ''
      for (let time = 0; time < 4; time++) expect(await call(client, `${server}_recall`)).toBe(kept)
      await call(client, `${server}_note`, { text: 'salt' })
      for (let time = 0; time < 4; time++) expect(await call(client, `${server}_recall`)).toBe(`${kept} salt`.trim())
      expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
    }
  },
)

test('what a gateway that was killed left in the database is removed by one that is there', async () => {
  const { gateway, database } = await start({ settings: { admin: false } })
  const client = await connectClient('v1', gateway.url, FRESH)
  for (const server of ['http', 'stdio']) await call(client, `${server}_note`, { text: 'milk' })
  const rows = (table: string) => runSql<{ id?: unknown }>(database, `SELECT * FROM pannier.${table}`)
  const [killed, callers] = [await rows('gateways'), await rows('placements')]
  expect([killed.length, callers.length]).toEqual([1, 2])
  await gateway.end('SIGKILL')
  // The database's clock is not ours to set, so what was left grows older.
  await runSql(database, "UPDATE pannier.gateways SET until = now() - interval '61 s'")
  const other = { url: (await sessionServer()).url }
  await startGatewayProcess({ other }, { settings: { admin: false, postgres: database } })
  await vi.waitFor(
    async () => expect(await rows('gateways')).not.toContainEqual(expect.objectContaining({ id: killed[0]?.id })),
    PATIENCE,
  )
  expect(await rows('placements')).toHaveLength(2) // for `idleSeconds`
  await runSql(database, "UPDATE pannier.placements SET freed_at = freed_at - interval '300 s'")
  await vi.waitFor(async () => expect(await rows('placements')).toHaveLength(1), PATIENCE)
  // A session at a server that nobody serves any more is kept for a day.
  await runSql(database, "UPDATE pannier.placements SET freed_at = freed_at - interval '1 day'")
  await vi.waitFor(async () => expect(await rows('placements')).toEqual([]), PATIENCE)
})
