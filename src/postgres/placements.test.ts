import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { newDatabase, runSql } from '../../test/postgres/database.ts'
import { postgres } from './database.ts'
import { placementKey, Placements } from './placements.ts'

const LEASE_MS = 60_000
const IDLE_MS = 5000
const ann = { server: 'desk', caller: 'ann', idleMs: IDLE_MS }
let url: string
let placements: Placements

beforeEach(async () => {
  url = await newDatabase()
  const connection = postgres({ url })
  placements = new Placements(connection)
  return () => connection.close()
})

async function enter(leaseMs = LEASE_MS): Promise<string> {
  const id = randomUUID()
  await placements.enter({ id, address: `http://${id}` }, leaseMs)
  return id
}

/** The database's clock is not ours to set, so what callers left grows older. */
const age = (ms: number) =>
  runSql(url, "UPDATE pannier.placements SET freed_at = freed_at - $1 * interval '1 millisecond'", [ms])

const endLease = (id: string) => runSql(url, 'UPDATE pannier.gateways SET until = now() WHERE id = $1', [id])

/** Claims a caller who is free, and gives its generation. */
async function claimed(gateway: string, caller = ann): Promise<string> {
  const place = await placements.claim(gateway, caller)
  return place.kind === 'here' ? place.generation : expect.fail(place.kind)
}

test('of gateways that claim a caller at once one owns it, and all others learn which', async () => {
  const gateways = await Promise.all(Array.from({ length: 6 }, () => enter()))
  const places = await Promise.all(gateways.map((gateway) => placements.claim(gateway, ann)))
  const here = places.flatMap((place, at) => (place.kind === 'here' ? [gateways[at]] : []))
  expect(here).toHaveLength(1)
  for (const gateway of gateways.filter((id) => id !== here[0]))
    expect(await placements.claim(gateway, ann)).toMatchObject({ kind: 'elsewhere', owner: { id: here[0] } })
  expect(await placements.claim(gateways[0] ?? '', { ...ann, server: 'other' })).toMatchObject({ kind: 'here' })
})

test('a gateway without a lease gets nobody, and what it had under an earlier generation is over', async () => {
  const [first, second] = [await enter(), await enter()]
  const generation = await claimed(first)
  expect(await claimed(first)).toBe(generation)
  expect(await placements.claimFrom(first, second, ann, false)).toMatchObject({ kind: 'leased' })
  await endLease(first)
  expect(await placements.claim(first, { ...ann, caller: 'bob' })).toEqual({ kind: 'unleased' })
  expect(await placements.claimFrom(first, second, ann, false)).toEqual({ kind: 'claimed' })
  const lost = { key: placementKey(ann), owner: first, generation }
  expect(await placements.keepSession(lost, 'sealed')).toBe(false)
  await placements.release(lost, false)
  const next = await claimed(second)
  expect(next).not.toBe(generation)
  expect(await placements.keepSession({ ...lost, owner: second, generation: next }, 'sealed')).toBe(true)
})

test('where a lease is renewed while its caller is taken, one of both happens', async () => {
  const second = await enter()
  for (let time = 0; time < 10; time++) {
    const caller = { ...ann, caller: `caller ${time}` }
    const first = await enter()
    await claimed(first, caller)
    await endLease(first)
    const gateway = { id: first, address: undefined }
    const [isRenewed, taking] = await Promise.all([
      placements.renew(gateway, LEASE_MS, false, 5000),
      placements.claimFrom(first, second, caller, false),
    ])
    expect(isRenewed).toBe(true) // it is not removed, whichever gateway has the caller
    const owned = (await placements.held(first)).has(placementKey(caller)) ? 'leased' : 'claimed'
    expect(taking.kind).toBe(owned)
  }
})

describe('what nobody comes back for', () => {
  test('is a gateway for a minute, its callers for their time, and a session of theirs is given once to be ended', async () => {
    const [gone, there] = [await enter(), await enter()]
    const claim = { key: placementKey(ann), owner: gone, generation: await claimed(gone) }
    await placements.keepSession(claim, 'sealed')
    await endLease(gone)
    expect(await placements.sweep(['desk'])).toEqual([])
    expect(await placements.held(gone)).toHaveProperty('size', 1)
    await runSql(url, "UPDATE pannier.gateways SET until = now() - interval '61 s' WHERE id = $1", [gone])
    expect(await placements.sweep(['desk'])).toEqual([])
    expect(await placements.held(gone)).toHaveProperty('size', 0)
    await age(IDLE_MS)
    const [first, second] = await Promise.all([placements.sweep(['desk']), placements.sweep(['desk'])])
    expect([...first, ...second]).toEqual([{ key: placementKey(ann), session: 'sealed' }])
    expect(await placements.claim(there, ann)).toMatchObject({ kind: 'here', session: undefined })
  })

  test('is a session at a server that no gateway serves any more for a day', async () => {
    const gone = await enter()
    await placements.keepSession({ key: placementKey(ann), owner: gone, generation: await claimed(gone) }, 'sealed')
    await placements.leave(gone)
    await age(86_400_000 - 60_000)
    expect(await placements.sweep(['other'])).toEqual([])
    await age(61_000)
    await placements.sweep(['other'])
    expect(await runSql(url, 'SELECT key FROM pannier.placements')).toEqual([])
  })
})
