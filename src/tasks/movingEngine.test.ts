import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newJournal } from '../journal/index.ts'
import type { Lease, NewTask, TaskEngine } from './engine.ts'
import { movingEngine } from './movingEngine.ts'
import { sqliteEngine } from './sqlite/engine.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const PATIENCE = { timeout: 20_000 }
const host = { audience: 'books', logger: () => silent }

function newTask(tool = 'print'): NewTask {
  const journal = newJournal(randomUUID())
  return {
    id: `${tool}_${randomUUID()}`,
    owner: 'ann',
    holder: 'ann',
    tool,
    args: {},
    caller: {},
    journal,
    ttlMs: null,
  }
}

/** An old store with a task in it, a new one, and an engine over both. */
async function moving(): Promise<{ old: TaskEngine; next: TaskEngine; both: TaskEngine; before: string }> {
  const old = sqliteEngine({ path: ':memory:' })
  const next = sqliteEngine({ path: ':memory:' })
  const both = movingEngine({ from: old, to: next })
  await both.open(host)
  onTestFinished(() => both.close())
  const { id } = await old.create(newTask())
  return { old, next, both, before: id }
}

test('new tasks are created in the new store, and those of the old one are still found', async () => {
  const { old, next, both, before } = await moving()
  const { id } = await both.create(newTask())
  expect([await old.read(id, 'ann'), (await next.read(id, 'ann'))?.id]).toEqual([undefined, id])
  expect((await both.read(before, 'ann'))?.id).toBe(before)
  expect(await both.read(before, 'bob')).toBeUndefined()
  expect((await both.cancel(before, 'ann'))?.status).toBe('cancelled')
})

test('if one store cannot be opened, neither is, and a retry can open both', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'pannier-moving-')), 'later', 'tasks.db')
  const old = sqliteEngine({ path: ':memory:' })
  const both = movingEngine({ from: old, to: sqliteEngine({ path }) })
  let hasClosed = false
  const close = vi.spyOn(old, 'close').mockImplementationOnce(async () => {
    await nextTurn()
    close.mockRestore()
    await old.close()
    hasClosed = true
  })
  await expect(both.open(host)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(hasClosed).toBe(true)
  await expect(old.create(newTask())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  mkdirSync(dirname(path))
  onTestFinished(() => rmSync(dirname(dirname(path)), { recursive: true }))
  await both.open(host)
  onTestFinished(() => both.close())
  const { id } = await old.create(newTask())
  expect((await both.read(id, 'ann'))?.id).toBe(id)
})

test('a list goes through both', async () => {
  const { both, before } = await moving()
  const { id } = await both.create(newTask())
  const seen: string[] = []
  let after: string | undefined
  do {
    const page = await both.list('ann', after, 1)
    seen.push(...page.tasks.map((task) => task.id))
    after = page.next
  } while (after !== undefined)
  expect(seen).toEqual([id, before])
})

test('tasks of both are run and watched', async () => {
  const { both, before } = await moving()
  const { id } = await both.create(newTask())
  const heard = new Set<string>()
  const ended = Promise.all(
    [id, before].map(
      (each) =>
        new Promise<void>((resolve) => {
          both.watch(each, () => {
            heard.add(each)
            resolve()
          })
        }),
    ),
  )
  const run = (lease: Lease): Promise<void> => lease.end({ status: 'completed', result: {} })
  const working = both.work({ tools: ['print'], concurrency: 1, run })
  await ended
  await working.stop()
  expect([...heard].toSorted()).toEqual([id, before].toSorted())
  expect((await both.read(before, 'ann'))?.status).toBe('completed')
  expect((await both.read(id, 'ann'))?.status).toBe('completed')
})

test('tasks of a tool that is added later are run, too, wherever they are', async () => {
  const { old, both } = await moving()
  const early = await old.create(newTask('bind'))
  const late = await both.create(newTask('bind'))
  const run: string[] = []
  const working = both.work({
    tools: ['print'],
    concurrency: 2,
    run: async (lease: Lease) => {
      run.push(lease.id)
      await lease.end({ status: 'completed', result: {} })
    },
  })
  onTestFinished(() => working.stop())
  await vi.waitFor(() => expect(run).toHaveLength(1), PATIENCE)
  working.serve('bind')
  await vi.waitFor(() => expect(run.toSorted()).toEqual(expect.arrayContaining([early.id, late.id])), PATIENCE)
})

test('open questions of both stores are one list, and a place in it is a place in both', async () => {
  const { old, next, both } = await moving()
  const approvers = { by: ['role:manager'], fourEyes: false }
  const ask = async (engine: TaskEngine, keys: string[]): Promise<void> => {
    await engine.create(newTask('asks'))
    const lease = await new Promise<Lease>((resolve) => {
      engine.work({ tools: ['asks'], concurrency: 1, run: async (given) => resolve(given) })
    })
    const request = { method: 'elicitation/create', params: { message: 'Well?' } } as never
    await lease.ask(
      keys.map((key) => ({ key, request, question: undefined, times: 1, approvers })),
      undefined,
    )
  }
  await ask(old, ['a', 'b', 'c'])
  await ask(next, ['x', 'y'])
  const seen: string[] = []
  for (let after = 0, page = 0; page < 10; page++) {
    const found = await both.openQuestions({ owner: undefined, names: ['role:manager'], after, limit: 2 })
    if (found.length === 0) break
    seen.push(...found.map(({ key }) => key))
    after = found.at(-1)?.place ?? 0
  }
  expect(seen.toSorted()).toEqual(['a', 'b', 'c', 'x', 'y'])
})
