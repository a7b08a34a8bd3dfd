import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { type Link, ownRequest } from '../../links/link.ts'
import { LinkPool, type LinkPoolOptions } from './pool.ts'
import type { Sharing } from './sharing.ts'
import type { Relayed } from '../../links/relayed.ts'

const opened: string[] = []
const closed: string[] = []
afterEach(() => {
  opened.length = 0
  closed.length = 0
})

/** `user@address` has no name, but a session. */
function relayedOf(user: string): Relayed {
  const [session, address] = user.split('@')
  const request = ownRequest('tools/call', {}, { principal: { id: user } })
  if (address === undefined) return request
  return { ...request, principal: undefined, address, peer: { ...request.peer, session } }
}

function pool(
  maxLinks: number,
  waitMs = 10_000,
  onClose?: (name: string) => Promise<void>,
  more: Partial<LinkPoolOptions> = {},
): LinkPool {
  return new LinkPool({
    server: 'files',
    maxLinks,
    idleMs: 60_000,
    waitMs,
    open: async ({ principal, peer }) => {
      const name = `${principal?.id ?? peer.session} ${opened.length}`
      opened.push(name)
      const close = async (): Promise<void> => {
        await onClose?.(name)
        closed.push(name)
      }
      return { isClosed: false, close } as unknown as Link
    },
    ...more,
  })
}

/** A call that ends at once; gives the texts of its result. */
async function callOnce(at: LinkPool, user: string, env?: Record<string, string>): Promise<string[]> {
  const said = { content: [{ type: 'text', text: 'done' }] }
  const relayed = { ...relayedOf(user), ...(env && { credentials: { env } }) }
  const { content } = await at.with(relayed, 'caller', () => Promise.resolve(said))
  return (content as { text: string }[]).map(({ text }) => text)
}

/** A call that lasts until it is told to end. */
function hold(at: LinkPool, user: string, sharing: Sharing) {
  const over = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<Link>()
  const done = at.with(relayedOf(user), sharing, async (link) => {
    begun.resolve(link)
    await over.promise
    return {}
  })
  done.catch(begun.reject)
  return { begun: begun.promise, done, end: over.resolve }
}

test('each caller has a link of their own, for all their calls', async () => {
  const at = pool(4)
  const calls = ['ann', 'ann', 'bob'].map((user) => hold(at, user, 'caller'))
  const [first, second, third] = await Promise.all(calls.map(({ begun }) => begun))
  expect(second).toBe(first)
  expect(third).not.toBe(first)
  expect(at.size).toBe(2)
})

test.each<Sharing>(['caller', 'call', 'all'])(
  'a link that has closed while nobody used it is not used again: %s',
  async (sharing) => {
    const at = pool(4)
    const first = hold(at, 'ann', sharing)
    const link = (await first.begun) as { isClosed: boolean }
    first.end()
    await first.done
    link.isClosed = true
    expect(await hold(at, 'ann', sharing).begun).not.toBe(link)
    expect(at.size).toBe(1)
  },
)

test('calls of one caller use half of the links, and another has room', async () => {
  const at = pool(4, 50)
  const mine = [hold(at, 'ann', 'call'), hold(at, 'ann', 'call')]
  await Promise.all(mine.map(({ begun }) => begun))
  await expect(hold(at, 'ann', 'call').begun).rejects.toThrow(
    'The server "files" has no room for this caller: one caller, or all callers of one address without a name, have at most 2 of its 4',
  )
  await hold(at, 'bob', 'call').begun
  expect(opened).toHaveLength(3)
})

test('a call that finds all links in use says so', async () => {
  const at = pool(2, 20)
  await Promise.all(['ann', 'bob'].map((user) => hold(at, user, 'call').begun))
  await expect(hold(at, 'carl', 'call').begun).rejects.toThrow(
    'The server "files" has no room: all of its 2 processes or sessions are in use',
  )
})

test('a call waits for room, and has a link that nobody else has used', async () => {
  const at = pool(1)
  const first = hold(at, 'ann', 'call')
  await first.begun
  const second = hold(at, 'bob', 'call')
  first.end()
  await second.begun
  expect(opened).toEqual(['ann 0', 'bob 1'])
  expect(closed).toEqual(['ann 0'])
})

test('the link that nobody has used for longest makes room', async () => {
  const at = pool(2)
  for (const user of ['ann', 'bob']) {
    const call = hold(at, user, 'caller')
    call.end()
    await call.done
  }
  await hold(at, 'cem', 'caller').begun
  expect(closed).toEqual(['ann 0'])
})

test('whoever holds the most links without a name loses one first', async () => {
  const at = pool(4)
  for (const user of ['ann', 's1@1.2.3.4', 's2@1.2.3.4', 's3@1.2.3.4']) {
    const call = hold(at, user, 'caller')
    call.end()
    await call.done
  }
  await hold(at, 'bob', 'caller').begun
  await hold(at, 's4@5.6.7.8', 'caller').begun
  expect(closed).toEqual(['s1 1', 's2 2'])
})

test('a link that may hold something is kept for its caller, and nobody else has room by its end', async () => {
  const at = pool(2, 20, undefined, { keeping: () => 'state' })
  for (const user of ['ann', 'bob', 'ann']) await callOnce(at, user)
  await expect(callOnce(at, 'cem')).rejects.toThrow(
    'all of its 2 processes or sessions are in use or kept for callers of the last 60 seconds, and none has become free within 0.02 seconds. Try again later; or raise maxProcesses or maxSessions, lower idleSeconds, or set "state": "stateless"',
  )
  expect(await callOnce(at, 'ann')).toEqual(['done'])
  expect(opened).toEqual(['ann 0', 'bob 1'])
})

test('a link that may hold something is closed for another one of the same caller', async () => {
  const at = pool(2, 20, undefined, { keeping: () => 'state' })
  for (const TOKEN of ['a', 'b', 'c']) await callOnce(at, 'ann', { TOKEN })
  expect(closed).toEqual(['ann 0', 'ann 1'])
})

test('where all links are kept, a newcomer has one of the largest caller after a second, which is reported', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const waiting = async (called: Promise<string[]>): Promise<string[]> => {
    called.catch(() => {})
    await vi.advanceTimersByTimeAsync(1500)
    return called
  }
  let evicted = 0
  const at = pool(5, 1500, undefined, { keeping: () => 'state', onEvicted: () => evicted++ })
  for (const TOKEN of ['a', 'b']) await callOnce(at, 'ann', { TOKEN })
  await callOnce(at, 'bob')
  for (const user of ['s1@1.2.3.4', 's2@1.2.3.4']) await callOnce(at, user)
  await callOnce(at, 'ann', { TOKEN: 'a' })
  for (const user of ['cem', 's3@5.6.7.8']) expect(await waiting(callOnce(at, user))).toEqual(['done'])
  expect([closed, evicted]).toEqual([['ann 1', 's1 3'], 2])
  await expect(waiting(callOnce(at, 'dan'))).rejects.toThrow('all of its 5 processes or sessions are in use or kept')
  expect(await callOnce(at, 'bob')).toEqual(['done'])
  expect(await callOnce(at, 'ann', { TOKEN: 'b' })).toEqual(['done', expect.stringContaining('closed to make room')])
})

test('links of one address without names that may hold something are half of all', async () => {
  const at = pool(4, 20, undefined, { keeping: () => 'state' })
  for (const user of ['s1@1.2.3.4', 's2@1.2.3.4']) await callOnce(at, user)
  await expect(callOnce(at, 's3@1.2.3.4')).rejects.toThrow('all callers of one address without a name, have at most 2')
  for (const user of ['ann', 's4@5.6.7.8', 's1@1.2.3.4']) expect(await callOnce(at, user)).toEqual(['done'])
  at.leave('session s1')
  expect(await callOnce(at, 's3@1.2.3.4')).toEqual(['done'])
})

test('a link that seems to hold nothing is evicted; that is reported, and its caller is told once', async () => {
  let evicted = 0
  const at = pool(1, 20, undefined, { keeping: () => 'unlikely', onEvicted: () => evicted++ })
  await callOnce(at, 'ann')
  await callOnce(at, 'bob')
  expect(evicted).toBe(1)
  expect(await callOnce(at, 'ann')).toEqual([
    'done',
    'The process or session that the server "files" had for this caller was closed to make room ("maxProcesses", "maxSessions"). What the server kept there is gone.',
  ])
  expect(await callOnce(at, 'ann')).toEqual(['done'])
})

test('callers of one address without names use half of the links at once, and others have room', async () => {
  const at = pool(4, 50)
  await Promise.all(['s1@1.2.3.4', 's2@1.2.3.4'].map((user) => hold(at, user, 'caller').begun))
  await expect(hold(at, 's3@1.2.3.4', 'caller').begun).rejects.toThrow('has no room')
  await hold(at, 's1@1.2.3.4', 'caller').begun
  await hold(at, 's4@5.6.7.8', 'caller').begun
  expect(opened).toHaveLength(3)
})

test('a link that is being closed counts until it is', async () => {
  const closing = Promise.withResolvers<void>()
  const at = pool(1, 10_000, () => closing.promise)
  const first = hold(at, 'ann', 'caller')
  first.end()
  await first.done
  const second = hold(at, 'bob', 'caller')
  await new Promise(setImmediate)
  expect(opened).toEqual(['ann 0'])
  closing.resolve()
  await second.begun
  expect(opened).toEqual(['ann 0', 'bob 1'])
})

test('calls that nobody is asked in share a link, with more links under load and never more than may be', async () => {
  const at = pool(2)
  const calls = Array.from({ length: 9 }, (_, index) => hold(at, `user${index}`, 'all'))
  const links = await Promise.all(calls.map(({ begun }) => begun))
  expect(new Set(links).size).toBe(2)
  expect(new Set(links.slice(0, 8)).size).toBe(1)
  await Promise.all(Array.from({ length: 20 }, () => hold(at, 'ann', 'all').begun))
  expect(opened).toHaveLength(2)
})
