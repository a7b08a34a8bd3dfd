/**
 * Plain clients of the official SDKs, and an instance that is killed with an answer in its hands, while the call is in a
 * store. Nobody but the client knows that answer then, and a plain client does not send it twice. Real processes, SIGKILL.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { amount } from '../amount.ts'
import { newDatabase } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { kinds } from '../survival/clients.ts'
import { type Gate, startGate } from './fixtures/gate.ts'
import { type Program, startProgram } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'

/** A client that waits longer than this has not been told. */
const TOLD_WITHIN_MS = 15_000
const ANN = { action: 'accept', content: { name: 'Ann' } }
const LOST = /The instance that ran this call is gone, and the call with it\. It may have had effects/

type Store = 'SQLite' | 'PostgreSQL'

interface Instances {
  readonly owner: Program
  readonly other: Program
  readonly gate: Gate
  /** Starts one more over the same store. */
  start(): Promise<Program>
}

/** Two instances with a common store. `onReached` is called with how far an instance has come, which waits there. */
async function startInstances(
  store: Store,
  onReached: (point: string, pid: number) => Promise<void> = () => Promise.resolve(),
): Promise<Instances> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-answers-'))
  const gate = await startGate(onReached)
  const programs: Program[] = []
  onTestFinished(async () => {
    await Promise.all(programs.map((program) => program.kill()))
    gate.close()
    rmSync(folder, { recursive: true })
  })
  const env = { GATE: gate.url, FOLDER: folder, ...(store === 'PostgreSQL' && { DATABASE: await newDatabase() }) }
  const start = async (): Promise<Program> => {
    const program = await startProgram('stored', env)
    programs.push(program)
    return program
  }
  const [owner, other] = await Promise.all([start(), start()])
  return { owner, other, gate, start }
}

type Kill = readonly [kind: 'v1' | 'v2', store: Store, point: string]

/** Calls at one instance, which is killed at the given point; the client then reaches another one. */
async function callAndKill([kind, store, point]: Kill) {
  const instances = await startInstances(store, async (reached, pid) => {
    const { owner, other } = instances
    if (reached !== point || pid !== owner.child.pid) return
    balancer.targets = [other.url]
    await owner.kill()
  })
  const balancer = await startBalancer()
  balancer.targets = [instances.owner.url]
  const client = await kinds[kind](balancer.url)
  onTestFinished(async () => {
    await client.close()
    balancer.close()
  })
  const told = await client.call('order', {}, { timeout: TOLD_WITHIN_MS }).then(JSON.stringify, String)
  return { kill: `${kind}, ${store}, ${point}`, told, effects: Object.fromEntries(instances.gate.effects) }
}

test('a client is asked again for an answer that nobody has claimed, from either store', async () => {
  const kills: readonly Kill[] = [
    ['v1', 'SQLite', 'claiming'],
    ['v2', 'PostgreSQL', 'claiming'],
    ['v2', 'SQLite', 'claiming'],
    ['v1', 'PostgreSQL', 'claiming'],
  ]
  for (const { kill, told, effects } of await Promise.all(kills.slice(0, amount(2, 4)).map(callAndKill))) {
    expect(told, kill).toContain('For Ann.')
    expect(effects, kill).toEqual({ reserved: 1, charged: 1 })
  }
})

test('a client is told of a call whose instance was killed with the answer, however far it was', async () => {
  const kills: readonly Kill[] = [
    ['v2', 'SQLite', 'charged'],
    ['v1', 'SQLite', 'answered'],
    ['v2', 'PostgreSQL', 'claimed'],
    ['v1', 'PostgreSQL', 'signed'],
    ['v1', 'SQLite', 'claimed'],
    ['v2', 'SQLite', 'signed'],
  ]
  const [charged, ...others] = await Promise.all(kills.slice(0, amount(4, 6)).map(callAndKill))
  expect(charged).toMatchObject({ told: expect.stringMatching(LOST), effects: { reserved: 1, charged: 1 } })
  for (const { kill, told, effects } of others) {
    expect(told, kill).toMatch(LOST)
    expect(effects, kill).toEqual({ reserved: 1 })
  }
})

test.each(['first', 'second'] as const)(
  'a question that waits when its instance is killed is withdrawn and asked again, and an answer to the %s counts, once',
  async (which) => {
    const { owner, other, gate } = await startInstances('SQLite')
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
  const instances = await startInstances('SQLite', async (point) => {
    if (point === 'answered') await instances.owner.kill()
  })
  const { owner, other } = instances
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
  const { owner, other, gate, start } = await startInstances('SQLite')
  const third = await start()
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
