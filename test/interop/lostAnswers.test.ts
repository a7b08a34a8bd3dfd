/**
 * Plain clients of the official SDKs, and an instance that is killed with an answer in its hands, while the call is in a
 * store. Nobody but the client knows that answer then, and a plain client does not send it twice. Real processes, SIGKILL.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newDatabase } from '../postgres/database.ts'
import { type Balancer, startBalancer } from '../survival/balancer.ts'
import { type Caller, kinds } from '../survival/clients.ts'
import { type Gate, startGate } from './fixtures/gate.ts'
import { type Program, startProgram } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'

/** A client that waits longer than this has not been told. */
const TOLD_WITHIN_MS = 15_000
const ANN = { action: 'accept', content: { name: 'Ann' } }
const LOST = /The instance that ran this call is gone, and the call with it\. It may have had effects/

let balancer: Balancer
let gate: Gate
let folder: string
let client: Caller | undefined
let programs: Program[] = []
/** Called with how far an instance has come, which waits there. */
let onReached: (point: string, pid: number) => Promise<void>

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pannier-answers-'))
  gate = await startGate((point, pid) => onReached(point, pid))
  balancer = await startBalancer()
})
afterEach(async () => {
  await client?.close()
  await Promise.all(programs.splice(0).map((program) => program.kill()))
  gate.close()
  balancer.close()
  rmSync(folder, { recursive: true })
})

type Store = 'SQLite' | 'PostgreSQL'

/** Two instances with a common store. */
async function startInstances(store: Store): Promise<[owner: Program, other: Program]> {
  const env = { GATE: gate.url, FOLDER: folder, ...(store === 'PostgreSQL' && { DATABASE: await newDatabase() }) }
  programs = await Promise.all([startProgram('stored', env), startProgram('stored', env)])
  return programs as [Program, Program]
}

/** Calls at one instance, which is killed at the given point; the client then reaches another one. */
async function callAndKill(kind: 'v1' | 'v2', store: Store, point: string): Promise<string> {
  const [owner, other] = await startInstances(store)
  onReached = async (reached, pid) => {
    if (reached !== point || pid !== owner.child.pid) return
    balancer.targets = [other.url]
    await owner.kill()
  }
  balancer.targets = [owner.url]
  client = await kinds[kind](balancer.url)
  return client.call('order', {}, { timeout: TOLD_WITHIN_MS }).then(JSON.stringify, String)
}

test.each([
  ['v1', 'SQLite'],
  ['v2', 'SQLite'],
  ['v1', 'PostgreSQL'],
  ['v2', 'PostgreSQL'],
] as const)('a client %s is asked again for an answer that nobody has claimed, from %s', async (kind, store) => {
  expect(await callAndKill(kind, store, 'claiming')).toContain('For Ann.')
  expect(Object.fromEntries(gate.effects)).toEqual({ reserved: 1, charged: 1 })
})

test.each([
  ['v1', 'SQLite', 'claimed', 0],
  ['v2', 'SQLite', 'signed', 0],
  ['v1', 'SQLite', 'answered', 0],
  ['v2', 'SQLite', 'charged', 1],
  ['v2', 'PostgreSQL', 'claimed', 0],
  ['v1', 'PostgreSQL', 'signed', 0],
] as const)(
  'a client %s is told of a call in %s whose instance was killed when it had %s',
  async (kind, store, point, charged) => {
    expect(await callAndKill(kind, store, point)).toMatch(LOST)
    expect(Object.fromEntries(gate.effects)).toEqual({ reserved: 1, ...(charged > 0 && { charged }) })
  },
)

test.each(['first', 'second'] as const)(
  'a question that waits when its instance is killed is withdrawn and asked again, and an answer to the %s counts, once',
  async (which) => {
    const [owner, other] = await startInstances('SQLite')
    onReached = () => Promise.resolve()
    const session = await RawSession.begin(owner.url, { capabilities: { elicitation: {} } })
    const call = await session.call('order')
    const first = await call.next()
    await owner.kill()

    session.url = other.url
    const resumed = await session.listen(call.lastEventId)
    expect(await resumed.next()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: first.id } })
    const second = await resumed.next()
    expect(second).toMatchObject({ method: 'elicitation/create', params: first.params })
    const [answered, late] = which === 'first' ? [first, second] : [second, first]
    for (const question of [answered, answered, late]) expect((await session.answer(question, ANN)).status).toBe(202)
    expect((await resumed.rest()).at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'For Ann.' }] } })
    // The call has ended now, at the latest.
    for (const question of [first, second]) expect((await session.answer(question, ANN)).status).toBe(202)
    expect(Object.fromEntries(gate.effects)).toEqual({ reserved: 1, charged: 1 })
  },
)

test('a client that knows no events without data is told, too, of a call whose instance died with its answer', async () => {
  const [owner, other] = await startInstances('SQLite')
  onReached = async (point) => {
    if (point === 'answered') await owner.kill()
  }
  const session = await RawSession.begin(owner.url, { version: '2025-06-18', capabilities: { elicitation: {} } })
  const call = await session.call('order')
  const question = await call.next()
  expect((await session.answer(question, ANN)).status).toBe(202)
  await expect(call.rest()).rejects.toThrow()
  session.url = other.url
  expect(await (await session.listen(call.lastEventId)).rest()).toMatchObject([
    { error: { data: { code: 'CALL_LOST' } } },
  ])
})

test('a call whose second instance is killed as well is asked for a third time', async () => {
  const [owner, other] = await startInstances('SQLite')
  onReached = () => Promise.resolve()
  const third = await startProgram('stored', { GATE: gate.url, FOLDER: folder })
  programs.push(third)
  const session = await RawSession.begin(owner.url, { capabilities: { elicitation: {} } })
  let stream = await session.call('order')
  await stream.next()
  for (const [killed, next] of [
    [owner, other],
    [other, third],
  ] as const) {
    await killed.kill()
    session.url = next.url
    stream = await session.listen(stream.lastEventId)
    expect(await stream.next()).toMatchObject({ method: 'notifications/cancelled' })
    const question = await stream.next()
    if (next === third) await session.answer(question, ANN)
  }
  expect((await stream.rest()).at(-1)).toMatchObject({ result: { content: [{ text: 'For Ann.' }] } })
  expect(Object.fromEntries(gate.effects)).toEqual({ reserved: 1, charged: 1 })
})
