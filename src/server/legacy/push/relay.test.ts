import { expect, onTestFinished, test, vi } from 'vitest'
import type { ResponseMessage } from '../../../protocol/index.ts'
import { createSealer, ephemeralKeyring } from '../../../state/seal/index.ts'
import type { Caller } from '../../call.ts'
import { localBus } from '../../lifecycle/eventBus.ts'
import { legacyPeer } from '../session.ts'
import { PushRelay } from './relay.ts'

const sealer = createSealer({ keyring: ephemeralKeyring(), audience: 'test' })
const peer = { ...legacyPeer({ version: '2025-11-25', client: undefined, capabilities: {} }), session: 's' }
const withRole = (role: string): Caller => ({ peer, principal: { id: 'mia', claims: { role } } })
const response: ResponseMessage = {
  kind: 'response',
  id: 'q',
  result: { roots: [] },
  error: undefined,
  state: undefined,
}

/** A relay whose bus nobody hears, and the questions that were published on it. */
function unheard(clock = Date.now) {
  const bus = localBus()
  const published: string[] = []
  bus.subscribe((event) => event.kind === 'answered' && published.push(event.question))
  const relay = new PushRelay({ bus, sealer, callerOf: () => undefined, take: async () => false, clock })
  return { relay, published }
}

test('an answer that comes many times at once is published as if it came once', async () => {
  const { relay, published } = unheard()
  const offers = Array.from({ length: 50 }, () =>
    relay.offer({ question: 'q', call: 'c' }, response, withRole('clerk')),
  )
  expect(new Set(await Promise.all(offers))).toEqual(new Set([false]))
  expect(published).toEqual(['q', 'q'])
})

test('of one caller a hundred answers are published within a second, and those of another as well', async () => {
  const { relay, published } = unheard(() => 0)
  const offers = Array.from({ length: 101 }, (_, at) =>
    relay.offer({ question: `${at}`, call: 'c' }, response, withRole('clerk')),
  )
  const other = relay.offer({ question: 'other', call: 'c' }, response, { peer, principal: { id: 'bob' } })
  await expect(Promise.all(offers)).rejects.toMatchObject({ code: 'LIMIT_REQUESTS' })
  expect((await Promise.allSettled(offers)).filter(({ status }) => status === 'rejected')).toHaveLength(1)
  expect(await other).toBe(false)
  expect(new Set(published).size).toBe(101)
})

test('who asked learns the claims that an answer came with at another instance', async () => {
  const bus = localBus()
  const taken: unknown[] = []
  const take = async (_: unknown, { result }: ResponseMessage, { principal }: Caller): Promise<boolean> => {
    taken.push([result, principal])
    return true
  }
  new PushRelay({ bus, sealer, callerOf: () => withRole('manager'), take, clock: Date.now })
  const other = new PushRelay({ bus, sealer, callerOf: () => undefined, take, clock: Date.now })
  expect(await other.offer({ question: 'q', call: 'c' }, response, withRole('clerk'))).toBe(true)
  expect(taken).toEqual([[{ roots: [] }, { id: 'mia', claims: { role: 'clerk' } }]])
})

test('an answer that cannot be taken because a rule throws ends no process', async () => {
  const bus = localBus()
  const take = (): Promise<boolean> => Promise.reject(new Error('a rule'))
  new PushRelay({ bus, sealer, callerOf: () => withRole('manager'), take, clock: Date.now })
  const other = new PushRelay({ bus, sealer, callerOf: () => undefined, take, clock: Date.now })
  expect(await other.offer({ question: 'q', call: 'c' }, response, withRole('clerk'))).toBe(false)
})

test('an answer is offered twice, and each time there is half a second to take it', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { relay, published } = unheard()
  let outcome: unknown = 'waits'
  void relay.offer({ question: 'q', call: 'c' }, response, withRole('clerk')).then((isTaken) => (outcome = isTaken))
  await vi.advanceTimersByTimeAsync(499)
  expect([published, outcome]).toEqual([['q'], 'waits'])
  await vi.advanceTimersByTimeAsync(500)
  expect([published, outcome]).toEqual([['q', 'q'], 'waits'])
  await vi.advanceTimersByTimeAsync(1)
  expect([published, outcome]).toEqual([['q', 'q'], false])
})
