import { expect, test } from 'vitest'
import type { Call } from '../../../server/internal.ts'
import { FinishedTasks } from './finished.ts'

const of = (id: string) => ({ principal: { id }, peer: {} }) as unknown as Call
const result = (chars: number) => ({ content: [{ type: 'text', text: 'x'.repeat(chars) }] })
const limits = { ttlMs: 60_000, maxCharsOfCaller: 10_000, maxChars: 15_000 }

test('a caller keeps the newest results, and loses none to another who has less', () => {
  const tasks = new FinishedTasks(limits)
  const ids = (user: string, count: number): string[] =>
    Array.from({ length: count }, () => String(tasks.keep(result(3000), of(user), user)['taskId']))
  const kept = (all: readonly string[]): boolean[] => all.map((id) => tasks.has(id))
  const [ann, bob] = [ids('ann', 1), ids('bob', 3)]
  expect([kept(ann), kept(bob)]).toEqual([[true], [false, true, true]])
  const cyd = ids('cyd', 1) // all together are too many: the largest caller loses its oldest
  expect([kept(ann), kept(bob), kept(cyd)]).toEqual([[true], [false, false, true], [true]])
})

test('a result is for the caller alone who made the call', async () => {
  const tasks = new FinishedTasks(limits)
  const id = String(tasks.keep(result(10), of('ann'), 'address')['taskId'])
  await expect(tasks.whole(of('ann'), id)).resolves.toMatchObject({ taskId: id, status: 'completed' })
  await expect(tasks.result(of('bob'), id, 'exposed')).rejects.toThrow('There is no task with this id')
})

test('what is gone is told as an unknown task', async () => {
  const tasks = new FinishedTasks(limits)
  await expect(tasks.whole(of('ann'), 'gone')).rejects.toThrow('There is no task with this id, or it has expired.')
})
