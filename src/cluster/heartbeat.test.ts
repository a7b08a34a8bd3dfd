import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ClusterEvent } from './events.ts'
import { MemberHeartbeat } from './heartbeat.ts'
import { type Instance, type Self, writeInstance } from './instance.ts'
import type { Members, MembersListener } from './members.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const instance = (id: string): Instance => ({ id, url: `http://127.0.0.1:1/${id}` })
const self = { id: 'm', url: undefined } as Self

/** Instances that this one knows, of which some are gone. */
function newMembers(ids: readonly string[], gone: readonly string[] = []) {
  const checked: string[] = []
  const published: ClusterEvent[] = []
  const listeners: MembersListener[] = []
  const members = {
    listen: (listener: MembersListener) => listeners.push(listener),
    known: () => ids.filter((id) => !gone.includes(id) || !checked.includes(id)).map(instance),
    check: async (id: string) => {
      checked.push(id)
      if (gone.includes(id)) for (const listener of listeners) listener.crashed?.(instance(id))
    },
    publish: (event: ClusterEvent) => void published.push(event),
  }
  return { members: members as unknown as Members, checked, published }
}

describe('an instance', () => {
  test.each([
    [['z', 'a', 'p'], 'p'],
    [['c', 'a', 'b'], 'a'],
  ])('that knows %j looks after the next by id, %s, once a second', async (ids, next) => {
    const { members, checked, published } = newMembers(ids)
    const heartbeat = new MemberHeartbeat({ self, members })
    heartbeat.start()
    heartbeat.start()
    await vi.advanceTimersByTimeAsync(999)
    expect(checked).toEqual([])
    await vi.advanceTimersByTimeAsync(2001)
    expect(checked).toEqual([next, next, next])
    expect(published).toEqual([])
    heartbeat.stop()
    await vi.advanceTimersByTimeAsync(5000)
    heartbeat.start()
    await vi.advanceTimersByTimeAsync(5000)
    expect(checked).toHaveLength(3)
  })

  test('tells the others that one is gone', async () => {
    const { members, published } = newMembers(['p', 'z'], ['p'])
    const heartbeat = new MemberHeartbeat({ self, members, everyMs: 10 })
    heartbeat.start()
    await vi.advanceTimersByTimeAsync(10)
    heartbeat.stop()
    expect(published).toEqual([{ kind: 'instance-lost', instance: writeInstance(instance('p')) }])
  })

  test('leaves it to others to report one that is not its successor', async () => {
    const { members, published } = newMembers(['p', 'z'], ['z'])
    new MemberHeartbeat({ self, members })
    await members.check('z')
    expect(published).toEqual([])
  })

  test('that is told so looks for itself', () => {
    const { members, checked } = newMembers([])
    const heartbeat = new MemberHeartbeat({ self, members })
    heartbeat.hear({ kind: 'instance-lost', instance: writeInstance(instance('p')) })
    heartbeat.hear({ kind: 'instance-lost', instance: 'nobody' })
    expect(checked).toEqual(['p'])
  })

  test('that knows nobody has nothing to do until it is started again', async () => {
    const { members, checked } = newMembers([])
    new MemberHeartbeat({ self, members }).start()
    await vi.advanceTimersByTimeAsync(10_000)
    expect([checked, vi.getTimerCount()]).toEqual([[], 0])
  })
})
