import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ServerEvent } from '../lifecycle/eventBus.ts'
import { PeerHeartbeat } from './heartbeat.ts'
import { type Instance, type Self, writeInstance } from './instance.ts'
import type { Peers } from './peers.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const instance = (id: string): Instance => ({ id, url: `http://127.0.0.1:1/${id}` })
const self = { id: 'm', url: undefined } as Self

/** Instances that this one knows, of which some are gone. */
function newPeers(ids: readonly string[], gone: readonly string[] = []) {
  const checked: string[] = []
  const published: ServerEvent[] = []
  const peers = {
    known: () => ids.map(instance),
    check: async (id: string) => {
      checked.push(id)
      return !gone.includes(id)
    },
    publish: (event: ServerEvent) => void published.push(event),
  }
  return { peers: peers as unknown as Peers, checked, published }
}

describe('an instance', () => {
  test.each([
    [['z', 'a', 'p'], 'p'],
    [['c', 'a', 'b'], 'a'],
  ])('that knows %j looks after the next by id, %s, once a second', async (ids, next) => {
    const { peers, checked, published } = newPeers(ids)
    const heartbeat = new PeerHeartbeat({ self, peers })
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
    const { peers, published } = newPeers(['p', 'z'], ['p'])
    const heartbeat = new PeerHeartbeat({ self, peers, everyMs: 10 })
    heartbeat.start()
    await vi.advanceTimersByTimeAsync(10)
    heartbeat.stop()
    expect(published).toEqual([{ kind: 'instance-lost', instance: writeInstance(instance('p')) }])
  })

  test('that is told so looks for itself', () => {
    const { peers, checked } = newPeers([])
    const heartbeat = new PeerHeartbeat({ self, peers })
    heartbeat.hear({ kind: 'instance-lost', instance: writeInstance(instance('p')) })
    heartbeat.hear({ kind: 'instance-lost', instance: 'nobody' } as unknown as ServerEvent)
    expect(checked).toEqual(['p'])
  })

  test('that knows nobody has nothing to do until it is started again', async () => {
    const { peers, checked } = newPeers([])
    new PeerHeartbeat({ self, peers }).start()
    await vi.advanceTimersByTimeAsync(10_000)
    expect([checked, vi.getTimerCount()]).toEqual([[], 0])
  })
})
