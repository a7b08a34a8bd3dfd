import { afterEach, expect, test } from 'vitest'
import { type Link, ownRequest } from '../links/link.ts'
import { Places } from './places.ts'
import type { Relayed } from '../links/relayed.ts'

const opened: string[] = []
const closed: string[] = []
afterEach(() => {
  opened.length = 0
  closed.length = 0
})

function relayedOf(user: string): Relayed {
  return ownRequest('tools/call', {}, { principal: { id: user } })
}

function places(maxLinks: number, waitMs = 10_000): Places {
  return new Places({
    server: 'files',
    maxLinks,
    idleMs: 60_000,
    waitMs,
    open: async ({ principal }) => {
      const name = `${principal?.id} ${opened.length}`
      opened.push(name)
      return { isClosed: false, close: async () => void closed.push(name) } as unknown as Link
    },
  })
}

/** A call that lasts until it is told to end. */
function hold(at: Places, user: string, sharing: 'call' | 'caller') {
  const over = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<Link>()
  const done = at.with(relayedOf(user), sharing, async (link) => {
    begun.resolve(link)
    await over.promise
  })
  done.catch(begun.reject)
  return { begun: begun.promise, done, end: over.resolve }
}

test('each caller has a link of their own, for all their calls', async () => {
  const at = places(4)
  const calls = ['ann', 'ann', 'bob'].map((user) => hold(at, user, 'caller'))
  const [first, second, third] = await Promise.all(calls.map(({ begun }) => begun))
  expect(second).toBe(first)
  expect(third).not.toBe(first)
  expect(at.size).toBe(2)
})

test('calls of one caller use half of the links, and another has room', async () => {
  const at = places(4, 50)
  const mine = [hold(at, 'ann', 'call'), hold(at, 'ann', 'call')]
  await Promise.all(mine.map(({ begun }) => begun))
  await expect(hold(at, 'ann', 'call').begun).rejects.toThrow('The server "files" has no room')
  await hold(at, 'bob', 'call').begun
  expect(opened).toHaveLength(3)
})

test('a call waits for room, and has a link that nobody else has used', async () => {
  const at = places(1)
  const first = hold(at, 'ann', 'call')
  await first.begun
  const second = hold(at, 'bob', 'call')
  first.end()
  await second.begun
  expect(opened).toEqual(['ann 0', 'bob 1'])
  expect(closed).toEqual(['ann 0'])
})

test('the link that nobody has used for longest makes room', async () => {
  const at = places(2)
  for (const user of ['ann', 'bob']) {
    const call = hold(at, user, 'caller')
    call.end()
    await call.done
  }
  await hold(at, 'cem', 'caller').begun
  expect(closed).toEqual(['ann 0'])
})
