import { expect, test, vi } from 'vitest'
import { createSealer, ephemeralKeyring } from '../../../state/seal/index.ts'
import { memoryLedger } from '../../../state/stores/index.ts'
import type { Sink } from '../../http/exchange.ts'
import { CarryRules } from '../../catalog/carry.ts'
import { localBus } from '../../lifecycle/eventBus.ts'
import type { ClientRequest, ClientRequests, ForwardedRequest } from '../../forwarding/clientRequests.ts'
import { type Instance, Owners, Self } from '../../../cluster/index.ts'
import { legacyPeer } from '../session.ts'
import { AnswerForwarder } from './answerForwarder.ts'
import { PushBroker } from './broker.ts'
import { QuestionIds } from './questionIds.ts'
import type { PushState } from './state.ts'

const sealer = createSealer({ keyring: ephemeralKeyring(), audience: 'test' })
const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })
const peer = { ...legacyPeer({ version: '2025-11-25', client: undefined, capabilities: {} }), session: 's' }
const caller = { peer, principal: undefined }
const [asker, second, third] = ['a', 'b', 'c'].map((name) => new Self(`http://${name}/mcp`)) as [Self, Self, Self]

/** An instance to which answers come, and the others, of which only those in `there` can be reached. */
function receiver(there: readonly Instance[], clock = Date.now) {
  const self = new Self('http://here/mcp')
  const bus = localBus()
  const owners = new Owners({ self, bus, ttlSeconds: 60, clock })
  const common = {
    owners,
    sealer,
    rules: new CarryRules(undefined, false),
    store: undefined,
    onDifference() {},
    bus: undefined,
    ledger: memoryLedger(),
    ttlSeconds: 60,
    clock,
  }
  const nobody = { canHandOff: async () => false, handOff: async () => undefined }
  const pushes = new PushBroker({ ...common, ...nobody, self, cancel() {}, logger })
  const forward = vi.fn(
    async (instance: Instance): Promise<ForwardedRequest> =>
      there.includes(instance) ? { kind: 'replied', reply: { status: 202 } } : { kind: 'gone', why: 'refused' },
  )
  const forwarder = { forward } as unknown as ClientRequests
  const end = vi.fn()
  const answers = new AnswerForwarder({ ...common, self, pushes, forwarder, resume: vi.fn(), end, logger })
  const take = (call = 'call') => {
    const id = new QuestionIds(sealer, asker).write('question', call, caller)
    const message = { kind: 'response', id, result: { roots: [] }, error: undefined, state: undefined } as const
    const request: ClientRequest = { method: 'POST', header: () => undefined, principal: undefined, gone: new Set() }
    return answers.take(message, caller, request, {} as Sink)
  }
  return { self, bus, owners, pushes, forward, end, take }
}

test('an answer finds a call that moved twice, where only the first move was heard of and that instance is gone, too', async () => {
  const { bus, owners, forward, take } = receiver([third])
  owners.note(['call'], second)
  bus.subscribe((event) => {
    if (event.kind === 'owner-wanted') owners.note([event.key], third)
  })
  expect(await take()).toEqual({ status: 202 })
  expect(forward.mock.calls.map(([{ url }]) => url)).toEqual([second.url, third.url])
})

test('an answer whose call was handed off here, and left to an instance that is gone, is not ignored', async () => {
  vi.useFakeTimers()
  try {
    const { self, forward, take } = receiver([])
    forward.mockResolvedValueOnce({ kind: 'moved', to: self })
    const reply = take()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await reply).toMatchObject({ status: 410 })
  } finally {
    vi.useRealTimers()
  }
})

test('an answer whose call nobody has is refused with a sentence after a while', async () => {
  vi.useFakeTimers()
  try {
    const { bus, owners, take } = receiver([])
    owners.note(['call'], second)
    const wanted: unknown[] = []
    bus.subscribe((event) => wanted.push(event))
    const reply = take()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await reply).toMatchObject({ status: 410, body: expect.stringContaining('look before you repeat it') })
    expect(wanted).toContainEqual({ kind: 'owner-wanted', key: 'call' })
  } finally {
    vi.useRealTimers()
  }
})

test('an answer is taken here when its call comes here while it is looked for', async () => {
  const { bus, pushes, take } = receiver([])
  const call = { call: 'call', generation: 0, carried: false, request: { id: 1, method: 'tools/call', params: {} } }
  const questions = [{ key: 'key', question: 'question', id: 'id' }]
  bus.subscribe((event) => {
    if (event.kind === 'owner-wanted') void pushes.resume({ ...call, journal: [], questions }, 'stream', caller)
  })
  expect(await take()).toEqual({ status: 202 })
})

test.each([
  ['is not ended where a stopping instance hands it off', third, 0],
  ['is ended where no instance has it', undefined, 1],
])('the stream of a call that has ended at an instance that is gone %s', async (_, taker, ends) => {
  vi.useFakeTimers()
  try {
    const { bus, owners, pushes, end, take } = receiver([])
    owners.note(['stream'], second)
    const state = { call: 'call', stream: 'stream' } as PushState
    vi.spyOn(pushes, 'take').mockResolvedValue({ kind: 'ended', state })
    bus.subscribe((event) => {
      if (event.kind === 'owner-wanted' && taker !== undefined) owners.note([String(event['key'])], taker)
    })
    const reply = take()
    await vi.advanceTimersByTimeAsync(4000)
    expect(await reply).toEqual({ status: 202 })
    expect(end).toHaveBeenCalledTimes(ends)
  } finally {
    vi.useRealTimers()
  }
})

test('an answer that comes many times at once is looked for once', async () => {
  vi.useFakeTimers()
  try {
    const { bus, take } = receiver([])
    const wanted: unknown[] = []
    bus.subscribe((event) => wanted.push(event))
    const replies = Promise.all(Array.from({ length: 50 }, () => take()))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(new Set((await replies).map((reply) => reply?.status))).toEqual(new Set([410]))
    expect(wanted.length).toBeLessThanOrEqual(15)
  } finally {
    vi.useRealTimers()
  }
})

test('of one caller a hundred lost answers are looked for within a second, and no more', async () => {
  vi.useFakeTimers()
  try {
    const { bus, take } = receiver([])
    const wanted = new Set<string>()
    bus.subscribe((event) => event.kind === 'owner-wanted' && wanted.add(event.key))
    const replies = Promise.all(Array.from({ length: 150 }, (_, index) => take(`call ${index}`)))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(new Set((await replies).map((reply) => reply?.status))).toEqual(new Set([410]))
    expect(wanted.size).toBe(100)
  } finally {
    vi.useRealTimers()
  }
})

test('of one caller a thousand answers are forwarded within a second, and no more', async () => {
  const { forward, take } = receiver([second], () => 0)
  forward.mockResolvedValue({ kind: 'replied', reply: { status: 202 } })
  const replies = await Promise.allSettled(Array.from({ length: 1001 }, (_, index) => take(`call ${index}`)))
  expect(replies.filter(({ status }) => status === 'rejected')).toMatchObject([
    { reason: { code: 'LIMIT_REQUESTS', retryAfterSeconds: 1 } },
  ])
  expect(forward).toHaveBeenCalledTimes(1000)
})
