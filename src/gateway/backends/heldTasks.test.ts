import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Json, RemoteError } from '../../protocol/index.ts'
import { BackendError, SessionForgotten } from '../errors.ts'
import type { Link } from '../links/link.ts'
import type { Relayed } from '../links/relayed.ts'
import { HeldTasks } from './heldTasks.ts'

interface By {
  readonly user?: string
  readonly session?: string
}

const by = (method: string, params: object, { user, session }: By): Relayed =>
  ({ method, params, peer: { session }, principal: user && { id: user } }) as unknown as Relayed
const linkOf = (era = 'legacy') => ({ isClosed: false, era }) as unknown as Link & { isClosed: boolean }
const created = { task: { taskId: 'task-1', status: 'working' } }
let released: string[] = []
const hold = (name: string) => () => () => void released.push(name)

/** The name of a task that a server calls `task-1`. */
function make(tasks: HeldTasks, link: Link, caller: By, more: object = {}): string {
  released = []
  const result = { task: { ...created.task, ...more } }
  const { task } = tasks.keep(by('tools/call', { task: {} }, caller), result, link, hold('it'))
  return String((task as { taskId: string }).taskId)
}

test('tasks that servers number alike are different ones, each in its own link', () => {
  const tasks = new HeldTasks('crm', 60_000)
  const [one, other] = [linkOf(), linkOf()]
  const names = [make(tasks, one, { user: 'ann' }), make(tasks, other, { user: 'ann' })]
  const links = names.map((taskId) => tasks.requestFor(by('tasks/get', { taskId }, { user: 'ann' })))
  expect(links.map((held) => held?.link)).toEqual([one, other])
  expect(links.map((held) => held?.relayed.params)).toEqual([{ taskId: 'task-1' }, { taskId: 'task-1' }])
  expect(tasks.listed(by('tasks/list', {}, {}), { tasks: [created.task, { taskId: 'task-2' }] }, one)).toEqual({
    tasks: [{ taskId: names[0], status: 'working' }],
  })
  tasks.close()
})

test.each([
  ['another principal', { user: 'ann' }, { user: 'bob' }],
  ['another session', { session: 's1' }, { session: 's2' }],
  ['somebody without a name', { user: 'ann' }, {}],
])('%s finds no such task', (_, maker, reader) => {
  const tasks = new HeldTasks('crm', 60_000)
  const taskId = make(tasks, linkOf(), maker)
  expect(() => tasks.requestFor(by('tasks/get', { taskId }, reader))).toThrow('has ended')
  expect(tasks.requestFor(by('tasks/get', { taskId }, maker))).toBeDefined()
  tasks.close()
})

test('a principal who comes back in another session has their tasks', () => {
  const tasks = new HeldTasks('crm', 60_000)
  const taskId = make(tasks, linkOf(), { user: 'ann', session: 's1' })
  expect(tasks.requestFor(by('tasks/get', { taskId }, { user: 'ann', session: 's2' }))).toBeDefined()
  tasks.close()
})

test('a task is lost with its link, and nobody need ask for it again', () => {
  const tasks = new HeldTasks('crm', 60_000)
  const link = linkOf()
  const taskId = make(tasks, link, { user: 'ann' })
  link.isClosed = true
  expect(() => tasks.requestFor(by('tasks/get', { taskId }, { user: 'ann' }))).toThrow(
    expect.objectContaining({
      code: -32602,
      message: expect.stringContaining('The server "crm" had this task in a session'),
    }),
  )
  tasks.close()
})

const failed = new RemoteError(-32000, 'The task broke.')
const left = new BackendError('BACKEND_LOST', 'crm', 'was notified that the caller has left.')

test.each<[string, string, Json | RemoteError, boolean]>([
  ['legacy', 'tasks/get', { status: 'working' }, false],
  ['legacy', 'tasks/get', { status: 'completed' }, false],
  ['legacy', 'tasks/get', { status: 'cancelled' }, true],
  ['legacy', 'tasks/cancel', { status: 'cancelled' }, true],
  ['legacy', 'tasks/result', { content: [] }, true],
  ['legacy', 'tasks/result', failed, true],
  ['legacy', 'tasks/result', left, false],
  ['legacy', 'tasks/get', failed, false],
  ['legacy', 'tasks/get', new SessionForgotten('crm', new Error('404')), true],
  ['modern', 'tasks/get', { status: 'working' }, false],
  ['modern', 'tasks/get', { status: 'completed', result: {} }, true],
])(
  'in an era that is %s, the answer to %s gives the link back where it is the last: %o',
  (era, method, answer, isLast) => {
    const tasks = new HeldTasks('crm', 60_000)
    const taskId = make(tasks, linkOf(era), { user: 'ann' })
    tasks.answered(by(method, { taskId }, { user: 'ann' }), answer)
    expect(released).toEqual(isLast ? ['it'] : [])
    tasks.close()
  },
)

test.each([true, false])('a result that reaches a client gives the link back, another does not: %s', (isDelivered) => {
  const tasks = new HeldTasks('crm', 60_000)
  const taskId = make(tasks, linkOf(), { user: 'ann' })
  tasks.answered(
    { ...by('tasks/result', { taskId }, { user: 'ann' }), isDelivered: () => isDelivered },
    { content: [] },
  )
  expect(released).toEqual(isDelivered ? ['it'] : [])
  tasks.close()
})

describe('a task that nobody asks for', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test.each([
    ['as long as its server keeps it', { ttl: 30_000 }, 30_000],
    ['as long as its server keeps it, in the other dialect', { ttlMs: 30_000 }, 30_000],
    ['no longer than others, where its server keeps it for long', { ttl: 90_000 }, 60_000],
    ['like others, where its server keeps it for ever', { ttl: null }, 60_000],
  ])('is held %s', (_, ttl, ms) => {
    const tasks = new HeldTasks('crm', 60_000)
    const taskId = make(tasks, linkOf(), { user: 'ann' }, ttl)
    const request = by('tasks/get', { taskId }, { user: 'ann' })
    vi.advanceTimersByTime(ms - 1)
    expect(tasks.requestFor(request)).toBeDefined()
    vi.advanceTimersByTime(ms - 1)
    expect(released).toEqual([])
    vi.advanceTimersByTime(1)
    expect(released).toEqual(['it'])
    expect(() => tasks.requestFor(request)).toThrow('has ended')
    tasks.close()
  })
})

test('what is no task is kept as it is', () => {
  const tasks = new HeldTasks('crm', 60_000)
  const result = { content: [], task: { taskId: 'of the tool itself' } }
  expect(tasks.keep(by('tools/call', {}, {}), result, linkOf(), hold('it'))).toBe(result)
  expect(tasks.requestFor(by('tasks/get', { taskId: 'plain' }, {}))).toBeUndefined()
  tasks.close()
})
