import { expect, test } from 'vitest'
import type { Call } from '../../call.ts'
import type { Owners } from '../../../cluster/index.ts'
import { legacyPeer } from '../session.ts'
import type { PushedCall } from './pushedCall.ts'
import { WaitingCalls } from './waitingCalls.ts'

const peer = legacyPeer({ version: '2025-11-25', client: undefined, capabilities: {} })
const ABANDONED = 'Too many calls wait for an answer, and the client of this one has disconnected.'
const TOO_MANY = 'Too many calls wait for an answer, and most of them are of this caller.'
const REFUSED = 'Too many calls wait for an answer; answer or cancel one first.'

/** `user@address` has no name, but a session. */
function callOf(user: string): Call {
  const [session, address] = user.split('@')
  const principal = address === undefined ? { id: user } : undefined
  return { principal, peer: { ...peer, session }, address, params: {} } as unknown as Call
}

function calls(maxWaiting: number, maxWaitingPerCaller = maxWaiting) {
  const waiting = new WaitingCalls(
    { maxWaiting, maxWaitingPerCaller, owners: { leave() {} } as unknown as Owners },
    () => {},
  )
  const ended: [string, string][] = []
  let asked = 0

  /** A call that waits for an answer. */
  function wait(user: string, connected = true): PushedCall {
    const name = `${user} ${++asked}`
    const asking = waiting.enter(name, 0)
    waiting.makeRoomFor(asking, callOf(user))
    const stream = { name: 'stream', position: 0, connected, noteOwed() {} }
    const answered = asking.open.wait(name, {
      id: name,
      caller: callOf(user),
      stream,
      isCarried: false,
      key: 'key',
      generation: 0,
      askAgain: undefined,
      mayAnswer: undefined,
      onAnswer: undefined,
      withdraw() {},
      ttlSeconds: 60,
    })
    answered.catch((error: unknown) => ended.push([name, (error as Error).message]))
    return asking
  }
  return { waiting, wait, ended: async () => (await Promise.resolve(), ended) }
}

test('a caller with too many calls loses its oldest whose client has disconnected, or gets no more', async () => {
  const { wait, ended } = calls(10, 2)
  for (const connected of [true, false, true]) wait('ann', connected)
  expect(await ended()).toEqual([['ann 2', ABANDONED]])
  expect(() => wait('ann')).toThrow(REFUSED)
  wait('bob')
})

test('where all calls are too many, the largest caller loses one, also where its clients are connected', async () => {
  const { wait, ended } = calls(3)
  for (const user of ['ann', 'bob', 'bob', 'cay']) wait(user)
  expect(await ended()).toEqual([['bob 2', TOO_MANY]])
  expect(() => wait('dan')).toThrow(REFUSED)
})

test('sessions of one network have half of all', async () => {
  const { wait, ended } = calls(4)
  for (const user of ['s1@192.0.2.1', 's2@192.0.2.1']) wait(user)
  expect(() => wait('s3@192.0.2.1')).toThrow(REFUSED)
  for (const user of ['s1@192.0.2.2', 's2@192.0.2.2', 'ann']) wait(user)
  expect(await ended()).toEqual([['s1@192.0.2.1 1', TOO_MANY]])
})

test('a call counts while it waits', () => {
  const { waiting, wait } = calls(1)
  const first = wait('ann')
  expect(() => wait('ann')).toThrow(REFUSED)
  first.open.fail('ann 1', new Error('answered'))
  const second = wait('ann')
  waiting.leave(second)
  const third = wait('ann')
  waiting.remove(third)
  wait('ann')
})
