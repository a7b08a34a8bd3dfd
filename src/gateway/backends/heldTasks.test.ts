import { expect, test } from 'vitest'
import type { Link } from '../links/link.ts'
import type { Relayed } from '../links/relayed.ts'
import { HeldTasks } from './heldTasks.ts'

interface By {
  readonly user?: string
  readonly session?: string
}

const by = (method: string, params: object, { user, session }: By): Relayed =>
  ({ method, params, peer: { session }, principal: user && { id: user } }) as unknown as Relayed
const linkOf = () => ({ isClosed: false }) as unknown as Link & { isClosed: boolean }
const created = { task: { taskId: 'task-1', status: 'working' } }
let released: string[] = []
const hold = (name: string) => () => () => void released.push(name)

/** The name of a task that a server calls `task-1`. */
function make(tasks: HeldTasks, link: Link, caller: By): string {
  released = []
  const { task } = tasks.keep(by('tools/call', { task: {} }, caller), created, link, hold('it'))
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

test('a task is lost with its link, and its end gives the link back', () => {
  const tasks = new HeldTasks('crm', 60_000)
  const link = linkOf()
  const taskId = make(tasks, link, { user: 'ann' })
  const request = by('tasks/get', { taskId }, { user: 'ann' })
  tasks.heard(request, { status: 'working' })
  expect(released).toEqual([])
  tasks.heard(request, { status: 'completed' })
  expect(released).toEqual(['it'])
  link.isClosed = true
  expect(() => tasks.requestFor(request)).toThrow('The server "crm" had this task')
  tasks.close()
})

test('what is no task is kept as it is', () => {
  const tasks = new HeldTasks('crm', 60_000)
  const result = { content: [], task: { taskId: 'of the tool itself' } }
  expect(tasks.keep(by('tools/call', {}, {}), result, linkOf(), hold('it'))).toBe(result)
  expect(tasks.requestFor(by('tasks/get', { taskId: 'plain' }, {}))).toBeUndefined()
  tasks.close()
})
