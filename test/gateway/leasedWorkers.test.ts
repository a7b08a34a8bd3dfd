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

test('what a session over HTTP keeps outlives the worker that has it, and a process does not, for clients of both eras', async () => {
  const outlives = async (kind: ClientKind): Promise<void> => {
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
  }
  await Promise.all([outlives('v1'), outlives('v2')])
})

test('what a gateway that was killed left in the database is removed by one that is there', async () => {
  const { gateway, database } = await start({ settings: { admin: false } })
  const rows = (table: string, id = 'key') =>
    runSql<{ id: unknown }>(database, `SELECT ${id} AS id FROM pannier.${table}`)
  const noteAs = async (): Promise<void> => {
    const client = await connectClient('v1', gateway.url, FRESH)
    for (const server of ['http', 'stdio']) await call(client, `${server}_note`, { text: 'milk' })
  }
  await noteAs()
  const ofTheFirst = (await rows('placements')).map(({ id }) => id)
  await noteAs()
  const [killed, callers] = [await rows('gateways', 'id'), await rows('placements')]
  expect([killed.length, ofTheFirst.length, callers.length]).toEqual([1, 2, 4])
  await gateway.end('SIGKILL')
  // The database's clock is not ours to set, so what was left grows older.
  await runSql(database, "UPDATE pannier.gateways SET until = now() - interval '61 s'")
  const other = { url: (await sessionServer()).url }
  await startGatewayProcess({ other }, { settings: { admin: false, postgres: database } })
  await vi.waitFor(async () => expect(await rows('gateways', 'id')).not.toContainEqual(killed[0]), PATIENCE)
  expect(await rows('placements')).toHaveLength(4) // for `idleSeconds`
  // A session at a server that nobody serves any more is kept for a day: that of the second caller stays.
  await runSql(database, "UPDATE pannier.placements SET freed_at = freed_at - interval '300 s'")
  await runSql(database, "UPDATE pannier.placements SET freed_at = freed_at - interval '1 day' WHERE key = ANY($1)", [
    ofTheFirst,
  ])
  await vi.waitFor(async () => expect(await rows('placements')).toHaveLength(1), PATIENCE)
  expect(ofTheFirst).not.toContainEqual((await rows('placements'))[0]?.id)
})
