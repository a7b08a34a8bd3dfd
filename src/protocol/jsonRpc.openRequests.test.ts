import { expect, test } from 'vitest'
import { OpenRequests } from './jsonRpc.ts'

test('what is under way is found by its id until it leaves', () => {
  const open = new OpenRequests<string>()
  open.set(1, 'first')
  open.set('1', 'second')
  expect([open.size, open.get(1), open.get('1'), open.has(2)]).toEqual([2, 'first', 'second', false])
  expect([open.delete(1), open.delete(1), open.get(1), open.has(1)]).toEqual([true, false, undefined, false])
  expect([...open.values()]).toEqual(['second'])
})

test('an id that is used again stands for what came last', () => {
  const open = new OpenRequests<string>()
  open.set(1, 'first')
  open.set(1, 'second')
  expect([open.size, open.get(1), [...open.values()]]).toEqual([1, 'second', ['second']])
})

test('all can leave while they are gone through', () => {
  const open = new OpenRequests<number>()
  for (const id of [1, 2, 3]) open.set(id, id)
  for (const id of open.values()) open.delete(id)
  expect(open.size).toBe(0)
})
