import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSealer, ephemeralKeyring } from '../../../state/seal/index.ts'
import { type Ledger, memoryLedger } from '../../../state/stores/index.ts'
import type { Sink } from '../../http/exchange.ts'
import { localBus, type ServerEvent } from '../../lifecycle/eventBus.ts'
import type { ClientRequest, ClientRequests } from '../../forwarding/clientRequests.ts'
import { type Instance, Owners, Self, writeInstance } from '../../../cluster/index.ts'
import type { PushBroker } from '../push/broker.ts'
import type { CallHandOff, StreamHandOff } from '../push/handOff.ts'
import { legacyPeer } from '../session.ts'
import type { GetStreams } from './getStreams.ts'
import { StreamResumption } from './resumption.ts'
import { LegacyStreams } from './streams.ts'

const sealer = createSealer({ keyring: ephemeralKeyring(), audience: 'test' })
const peer = { ...legacyPeer({ version: '2025-11-25', client: undefined, capabilities: {} }), session: 's' }
const caller = { peer, principal: undefined }
const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A client's connection, which it can lose. */
class Connection implements Sink {
  disconnected = false
  text = ''
  ended = false
  readonly #listeners: (() => void)[] = []
  setHeaders(): void {}
  open(): void {}
  write(text: string): void {
    this.text += text
  }
  end(): void {
    this.ended = true
  }
  onDisconnect(listener: () => void): void {
    if (this.disconnected) return listener()
    this.#listeners.push(listener)
  }
  lose(): void {
    this.disconnected = true
    if (!this.ended) for (const listener of this.#listeners) listener()
  }
}

/** An instance to which clients come for a stream of one that was killed. */
function survivor(
  mayAnswerAgain: boolean,
  forward: (...args: unknown[]) => Promise<unknown> = async () => ({ kind: 'gone', why: 'ECONNREFUSED' }),
  ledger?: Ledger,
  stored: () => Promise<CallHandOff | undefined> = async () => undefined,
  claimant?: Instance,
) {
  const resumed: StreamHandOff[] = []
  const bus = localBus()
  const self = new Self('http://here/mcp')
  const joined: { to: Instance; sink: Sink }[] = []
  const streams = new LegacyStreams(sealer, self)
  const owners = new Owners({ self, bus, ttlSeconds: 3600, clock: Date.now })
  const resumption = new StreamResumption({
    streams,
    getStreams: {} as GetStreams,
    pushes: { mayAnswerAgain: () => mayAnswerAgain, stored } as unknown as PushBroker,
    forwarder: {
      forward,
      join: async (to: Instance, _: ClientRequest, sink: Sink) => joined.push({ to, sink }) > 0,
    } as unknown as ClientRequests,
    ledger,
    members: { meet() {} },
    bus,
    self,
    resumeCall: async (stream) => {
      if (claimant !== undefined) return owners.note([stream.name], claimant) // as where another instance has claimed it
      resumed.push(stream)
      resumption.noteClaimed(stream.name, caller) // as the instance that runs the call does
    },
    owners,
    ttlSeconds: 3600,
    clock: Date.now,
    logger,
  })
  const lost = new LegacyStreams(sealer, new Self('http://dead/mcp')).begin(caller, 1)
  const resume = async (lastEventId: string, connection = new Connection()) => {
    const request: ClientRequest = { method: 'GET', header: () => undefined, principal: undefined, gone: new Set() }
    return { connection, reply: await resumption.resume(lastEventId, caller, request, connection) }
  }
  const comeBack = async (mark = ':q'): Promise<Connection> => (await resume(`${lost.name}:1${mark}`)).connection
  const cancelled: ServerEvent[] = []
  bus.subscribe((event) => event.kind === 'cancelled' && cancelled.push(event))
  const wanted: ServerEvent[] = []
  bus.subscribe((event) => event.kind === 'owner-wanted' && wanted.push(event))
  const goOnAt = (to: Instance): void => {
    const moved: ServerEvent = { kind: 'owner-changed', keys: [lost.name], to: writeInstance(to) }
    bus.publish(moved)
  }
  return { resume, comeBack, goOnAt, joined, resumed, streams, cancelled, wanted, name: lost.name, owners, resumption }
}

const other = new Self('http://other/mcp')

test('a stream that is handed off while its participants are read is not announced as owned here', async () => {
  const { resumption, owners, name } = survivor(true, undefined, memoryLedger())
  resumption.noteClaimed(name, caller)
  owners.note([name], other)
  await vi.advanceTimersByTimeAsync(100)
  expect(owners.get(name)).toMatchObject({ id: other.id })
})

test('what a client that comes back claims in the ledger is counted as its own', async () => {
  const holders: unknown[] = []
  const inner = memoryLedger()
  const claim: Ledger['claim'] = (id, seconds, holder) => (holders.push(holder), inner.claim(id, seconds, holder))
  await survivor(true, undefined, { ...inner, claim }).comeBack()
  expect(holders).toEqual(['session s'])
})

test('a client that loses its connection while it waits, and comes back, is told that the call is lost', async () => {
  const { comeBack } = survivor(false)
  const first = await comeBack()
  first.lose()
  const second = await comeBack()
  await vi.advanceTimersByTimeAsync(3000)
  expect([second.ended, second.text]).toEqual([true, expect.stringContaining('is gone')])
})

test('a client whose stored call another instance has claimed unheard is connected to it, and once only', async () => {
  const { comeBack, joined } = survivor(false, undefined, undefined, async () => ({}) as CallHandOff, other)
  const first = await comeBack()
  await vi.advanceTimersByTimeAsync(3000)
  expect(joined).toEqual([{ to: other, sink: first }])
  const second = await comeBack()
  await vi.advanceTimersByTimeAsync(3000)
  expect([joined.length, second.text]).toEqual([1, expect.stringContaining('is gone')])
})

test.each([
  ['after it lost the first one', true],
  ['before it lost the first one', false],
])('a client that comes back a second time, %s, gets what another instance sends', async (_, loses) => {
  const { comeBack, goOnAt, joined } = survivor(true)
  const first = await comeBack()
  if (loses) first.lose()
  const second = await comeBack()
  goOnAt(other)
  expect(joined).toEqual([{ to: expect.objectContaining({ id: other.id }), sink: second }])
})

test('a connection that its client has lost before it is looked at leaves the one on which that client waits', async () => {
  const held = Promise.withResolvers<unknown>()
  const forward = vi.fn(async (): Promise<unknown> => ({ kind: 'gone', why: 'ECONNREFUSED' }))
  forward.mockReturnValueOnce(held.promise)
  const { resume, comeBack, goOnAt, joined, name } = survivor(true, forward)
  const first = new Connection()
  const returned = resume(`${name}:1:q`, first)
  const second = await comeBack()
  first.lose()
  held.resolve({ kind: 'gone', why: 'ECONNREFUSED' })
  await returned
  goOnAt(other)
  expect(joined).toEqual([{ to: expect.objectContaining({ id: other.id }), sink: second }])
})

test('a call that its client is told to be lost is cancelled, where its instance was only silent', async () => {
  const { comeBack, cancelled } = survivor(false)
  await comeBack()
  expect(cancelled).toEqual([])
  await vi.advanceTimersByTimeAsync(3000)
  expect(cancelled).toEqual([{ kind: 'cancelled', session: 's', request: 1 }])
})

// The official clients forget where they were when a connection ends that brought no event id.
test.each(['', ':q'])(
  'a client that comes back has its event id before anything else, so that it can come back again: "%s"',
  async (mark) => {
    const { comeBack, name } = survivor(false)
    expect((await comeBack(mark)).text).toBe(`id: ${name}:1${mark}\ndata: \n\n`)
  },
)

test('a client that comes back to another instance has an event id before that has the stream', async () => {
  const forward = vi.fn(async () => ({ kind: 'replied', reply: undefined }))
  const { comeBack, name } = survivor(false, forward)
  await comeBack()
  expect(forward).toHaveBeenCalledWith(
    expect.anything(),
    expect.anything(),
    expect.anything(),
    `id: ${name}:1:q\ndata: \n\n`,
  )
})

test('a client that was told that its call is lost, and comes back all the same, is sent away for good', async () => {
  const { comeBack, resume } = survivor(false)
  const told = await comeBack()
  await vi.advanceTimersByTimeAsync(3000)
  const lastEventId = /id: (\S+)\ndata: \{/.exec(told.text)?.[1] ?? ''
  expect((await resume(lastEventId)).reply).toMatchObject({ status: 405 })
})

test('a client gets its stream from the instance that says that it has it, also when that is met late', async () => {
  const { comeBack, goOnAt, joined, wanted } = survivor(false)
  const sink = await comeBack()
  await vi.advanceTimersByTimeAsync(2000)
  goOnAt(other)
  expect(joined).toEqual([{ to: expect.objectContaining({ id: other.id }), sink }])
  const asked = wanted.length
  await vi.advanceTimersByTimeAsync(60_000)
  expect([asked, wanted.length]).toEqual([11, 11])
})

test('a client whose call may be resumed waits for that, although no instance has it yet', async () => {
  const { comeBack } = survivor(true)
  const connection = await comeBack()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(connection.ended).toBe(false)
})

test('a call that the store has goes on where its client waits, once no other instance has taken it up', async () => {
  const call = { call: 'c' } as CallHandOff
  const { comeBack, resumed, name } = survivor(false, undefined, undefined, async () => call)
  const connection = await comeBack()
  await vi.advanceTimersByTimeAsync(2900)
  expect(resumed).toEqual([])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(resumed).toEqual([{ name, caller, position: 1, kept: [], progress: null, call }])
  expect(connection.ended).toBe(false)
})

test('a client is told that its call is lost when the store cannot be read', async () => {
  const { comeBack } = survivor(false, undefined, undefined, () => Promise.reject(new Error('It is away.')))
  const connection = await comeBack()
  await vi.advanceTimersByTimeAsync(3000)
  expect([connection.ended, connection.text]).toEqual([true, expect.stringContaining('is gone')])
})

test('a client that owes no answer is told that its call is lost, also where calls may be resumed', async () => {
  const { comeBack } = survivor(true)
  const connection = await comeBack('')
  await vi.advanceTimersByTimeAsync(3000)
  expect([connection.ended, connection.text]).toEqual([true, expect.stringContaining('is gone')])
})

test('a client that waits and goes away leaves no stream and no timer', async () => {
  const { comeBack, streams, name } = survivor(true)
  for (let times = 0; times < 3; times++) await comeBack()
  const last = await comeBack()
  last.lose()
  await vi.advanceTimersByTimeAsync(3000)
  expect([streams.get(name), vi.getTimerCount()]).toEqual([undefined, 0])
})
