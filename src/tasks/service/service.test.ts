import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { newJournal, nextRound } from '../../journal/index.ts'
import type { Call, TaskService, TaskHost } from '../../server/index.ts'
import { type TaskServiceOptions, createTasks } from './service.ts'
import type { TaskEngine } from '../engine.ts'
import { sqliteEngine } from '../sqlite/engine.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const host: TaskHost = {
  audience: 'service',
  logger: () => silent,
  knowsCallers: false,
  notices: () => undefined,
  holderOf: () => 'ann',
  assertMayCall() {},
  mayAnswer: () => false,
  write: (result) => JSON.stringify(result),
  run: async () => ({ kind: 'completed', result: {} }),
}

/** A service that leaves running to others, and its engine. */
function newService(options: TaskServiceOptions = {}): { service: TaskService; engine: TaskEngine } {
  const engine = sqliteEngine({ path: ':memory:' })
  const service = createTasks(engine, { concurrency: 0, ...options }).attach(host)
  onTestFinished(() => service.close())
  return { service, engine }
}

/** A call whose caller is there, or went away. */
function callFrom(isGone: boolean): Call {
  const peer = { era: 'modern', version: '2026-07-28', client: undefined, capabilities: {} }
  const channel = { cancelled: isGone, notify() {}, onCancel() {} }
  return { id: 1, method: 'tools/call', params: {}, meta: {}, peer, principal: undefined, channel } as unknown as Call
}

async function statusOf(
  service: TaskService,
  engine: TaskEngine,
  call: Call,
  round: 0 | 1,
): Promise<string | undefined> {
  const journal = round === 0 ? newJournal('call') : nextRound(newJournal('call'))
  const { taskId } = JSON.parse(await service.create(call, { tool: 'print', args: {}, journal })) as { taskId: string }
  return (await engine.read(taskId, ''))?.status
}

describe('a call whose client went away before it knew of its task', () => {
  test('is cancelled: nobody would ever ask for it', async () => {
    const { service, engine } = newService()
    expect(await statusOf(service, engine, callFrom(true), 0)).toBe('cancelled')
  })

  test('goes on where it can be sent again, and then gives the same task', async () => {
    const { service, engine } = newService()
    expect(await statusOf(service, engine, callFrom(true), 1)).toBe('working')
    expect(await statusOf(service, engine, callFrom(false), 1)).toBe('working')
    expect((await engine.list('', undefined, 10)).tasks).toHaveLength(1)
  })

  test('goes on where it did not go away', async () => {
    const { service, engine } = newService()
    expect(await statusOf(service, engine, callFrom(false), 0)).toBe('working')
  })
})

describe('a service', () => {
  test.each<TaskServiceOptions>([
    { ttlMs: 0 },
    { ttlMs: Number.NaN },
    { ttlMs: -1 },
    { maxTtlMs: 0.5 },
    { maxTtlMs: Number.POSITIVE_INFINITY },
    { pollMs: 0 },
    { pollMs: '5' as never },
    { concurrency: -1 },
    { concurrency: Number.NaN },
  ])('refuses %o', (options) => {
    const [name = ''] = Object.keys(options)
    expect(() => newService(options)).toThrow(expect.objectContaining({ code: 'TASK_OPTION' }))
    expect(() => newService(options)).toThrow(name)
  })

  test('treats an undefined option as absent', async () => {
    const { service, engine } = newService({ ttlMs: undefined, pollMs: undefined } as never)
    expect(await statusOf(service, engine, callFrom(false), 0)).toBe('working')
  })

  test('that is closed while its store is being opened leaves nothing open', async () => {
    const { service, engine } = newService()
    const starting = service.start([])
    await Promise.all([starting, service.close()])
    await expect(engine.read('any', '')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})

describe('how long a task lives', () => {
  const asking = (ttl: unknown, era = 'legacy'): Call => {
    const call = callFrom(false)
    return { ...call, peer: { ...call.peer, era } as Call['peer'], params: { task: { ttl } } }
  }

  const ttlOf = async (call: Call, options: TaskServiceOptions = {}): Promise<unknown> => {
    const { service, engine } = newService(options)
    const create = vi.spyOn(engine, 'create')
    await service.create(call, { tool: 'print', args: {}, journal: newJournal('call') })
    return create.mock.calls[0]?.[0].ttlMs
  }

  test.each<[string, unknown, TaskServiceOptions, number | null]>([
    ['as long as a session asks for', 1, {}, 1],
    ['no longer than is allowed', 5001, { maxTtlMs: 5000 }, 5000],
    ['thirty days at most', 1e12, {}, 2_592_000_000],
    ['as long as the server says where nobody asks', undefined, { ttlMs: 7000 }, 7000],
    ['as long as the server says where no time is asked for', null, { ttlMs: 7000 }, 7000],
    ['without an end by default', undefined, {}, null],
  ])('is %s', async (_, ttl, options, expected) => {
    expect(await ttlOf(asking(ttl), options)).toBe(expected)
  })

  test('is not for clients of the stateless revision to say', async () => {
    expect(await ttlOf(asking(5, 'modern'), { ttlMs: 7000 })).toBe(7000)
  })

  test.each([0, -1, 1.5, '5'])('cannot be %j', async (ttl) => {
    await expect(ttlOf(asking(ttl))).rejects.toMatchObject({ code: 'PARAMS_INVALID' })
  })
})

test.each([
  [0, []],
  [1, [1]],
  [undefined, [16]],
])('a service with the concurrency %s runs so many tasks at a time', async (concurrency, expected) => {
  const engine = sqliteEngine({ path: ':memory:' })
  const work = vi.spyOn(engine, 'work')
  const service = createTasks(engine, concurrency === undefined ? {} : { concurrency }).attach(host)
  onTestFinished(() => service.close())
  await service.create(callFrom(false), { tool: 'print', args: {}, journal: newJournal('call') })
  expect(work.mock.calls.map(([options]) => options.concurrency)).toEqual(expected)
})
