import { describe, expect, test, vi } from 'vitest'
import { newJournal, writeJournal } from '../../../journal/index.ts'
import type { Json, ResponseMessage } from '../../../protocol/index.ts'
import { createSealer, ephemeralKeyring } from '../../../state/seal/index.ts'
import { memoryCarryStore, memoryLedger } from '../../../state/stores/index.ts'
import type { Call } from '../../call.ts'
import { CarryRules } from '../../catalog/carry.ts'
import { Owners, Self } from '../../../cluster/index.ts'
import { localBus } from '../../lifecycle/eventBus.ts'
import type { Logger } from '../../logger.ts'
import { PushBroker, type PushBrokerOptions } from './broker.ts'
import { QuestionIds } from './questionIds.ts'
import type { PushStream } from './state.ts'
import { legacyPeer, unknownPeer } from '../session.ts'

const sealing = { keyring: ephemeralKeyring(), audience: 'test' }
const sealer = createSealer(sealing)
const settled = { kind: 'settled' }
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const request = { method: 'roots/list' } as const
const stream = { name: 'stream', position: 0, connected: true, noteOwed() {} }

const dead = new Self('http://dead/mcp')
const gone = new Set([dead.id])
const patience = new AbortController().signal

function process(options: Partial<PushBrokerOptions> = {}): PushBroker {
  const { self = new Self('http://instance/mcp'), clock = Date.now } = options
  const defaults = {
    self,
    owners: new Owners({ self, bus: localBus(), ttlSeconds: 60, clock }),
    bus: undefined,
    sealer,
    rules: new CarryRules(undefined, false),
    store: undefined,
    onDifference() {},
    ledger: memoryLedger(),
    ttlSeconds: 60,
    canHandOff: async () => true,
    handOff: async () => undefined,
    cancel() {},
  }
  return new PushBroker({ ...defaults, clock, logger: () => silent, ...options })
}

const capabilities = { experimental: { 'dev.pannier/state-echo': {} } }
const peer = { ...legacyPeer({ version: '2025-11-25', client: undefined, capabilities }), session: 's' }
const caller = { peer, principal: undefined }
const call = { ...caller, id: 1, method: 'tools/call', params: {} } as unknown as Call

/** Asks under `key`; gives the question as sent and the answer to come. */
async function ask(
  pushes: PushBroker,
  key: string,
  id = 'call',
  by = call,
): Promise<{ question: Json; answer: Promise<unknown> }> {
  const journal = newJournal(id)
  const carried = { id, key, body: () => writeJournal(journal) }
  let answer: Promise<unknown> = Promise.resolve()
  const question = await new Promise<Json>((resolve) => {
    answer = pushes.push(by, request, carried, stream, {
      send: resolve,
      elsewhere: { contents: () => ({ name: 'stream', position: 0, kept: [], progress: null }), handOff() {} },
    })
  })
  answer.catch(() => {}) // most tests leave it open
  return { question, answer }
}

function answerTo({ id, state }: Json, root: string): ResponseMessage {
  return { kind: 'response', id: id as string, state, result: { roots: [root] }, error: undefined }
}

/** The name of a question by its id on the wire. */
function nameOf({ id }: Json, by: typeof caller): string {
  return new QuestionIds(sealer, dead).read(id as string, by)?.question ?? ''
}

test('a call with very large parameters has no state, which would take long to seal; its answer is taken in place', async () => {
  const pushes = process({ sealer: createSealer({ ...sealing, maxBytes: 2 ** 24 }) })
  const asked = async (chars: number) => {
    const params = { arguments: { text: 'x'.repeat(chars) } }
    return ask(pushes, 'a', `call ${chars}`, { ...call, params })
  }
  expect((await asked(1_000_000)).question).toHaveProperty('state')
  const { question, answer } = await asked(1_100_000)
  expect(question).not.toHaveProperty('state')
  expect(await pushes.take(answerTo(question, 'A'), caller)).toEqual(settled)
  expect(await answer).toEqual({ roots: ['A'] })
})

describe('two questions of a process that is gone', () => {
  test('resume one call, which has the second answer before it asks', async () => {
    const before = process({ self: dead })
    const [a, b] = [await ask(before, 'a'), await ask(before, 'b')]
    const pushes = process()
    const taken = await Promise.all([
      pushes.take(answerTo(a.question, 'A'), caller, gone),
      pushes.take(answerTo(b.question, 'B'), caller, gone),
    ])
    expect(taken).toMatchObject([
      { kind: 'resumed', call: { id: 1, params: { inputResponses: { a: { roots: ['A'] } } } } },
      { kind: 'settled' },
    ])
    const carried = { id: 'call', key: 'b', body: () => ({}) }
    const unasked = {
      send: (): never => expect.unreachable(),
      elsewhere: { contents: () => ({ name: 'stream', position: 0, kept: [], progress: null }), handOff() {} },
    }
    expect(await pushes.push(call, request, carried, stream, unasked)).toEqual({ roots: ['B'] })
  })

  test('resume nothing once the call has ended where it went on', async () => {
    const { question } = await ask(process({ self: dead }), 'a')
    const ledger = memoryLedger()
    const self = new Self('http://second/mcp')
    const pushes = process({ ledger, self })
    expect(await pushes.take(answerTo(question, 'A'), caller, gone)).toMatchObject({ kind: 'resumed' })
    pushes.end('call')
    expect(await pushes.take(answerTo(question, 'A'), caller, gone)).toEqual(settled)
    const both = new Set([...gone, self.id])
    expect(await process({ ledger }).take(answerTo(question, 'A'), caller, both)).toMatchObject({ kind: 'ended' })
  })

  test('leave the call to an instance that went on with it before, while that is there', async () => {
    const { question } = await ask(process({ self: dead }), 'a')
    const ledger = memoryLedger()
    const self = new Self('http://first/mcp')
    await process({ ledger, self }).take(answerTo(question, 'A'), caller, gone)
    const third = process({ ledger })
    expect(await third.take(answerTo(question, 'A'), caller, gone)).toMatchObject({
      kind: 'elsewhere',
      instance: { id: self.id },
    })
    const both = new Set([...gone, self.id])
    expect(await third.take(answerTo(question, 'A'), caller, both)).toMatchObject({ kind: 'resumed' })
  })
})

test('a call that ends takes its open questions with it, and a late answer to one changes nothing', async () => {
  const pushes = process()
  const { question, answer } = await ask(pushes, 'a')
  expect(pushes.end('call')).toEqual([question['id']])
  await expect(answer).rejects.toThrow('The request has ended.')
  expect(await pushes.take(answerTo(question, 'A'), caller)).toEqual(settled)
})

test('a caller who asks and cancels for ever fills its own part of the ledger, and no other caller notices', async () => {
  const ledger = memoryLedger({ maxEntries: 40 })
  const pushes = process({ ledger })
  for (let count = 0; count < 50; count++) {
    await ask(pushes, 'a')
    pushes.end('call')
    await ask(pushes, 'a', `call ${count}`)
    pushes.end(`call ${count}`)
  }
  await vi.waitFor(() => expect(pushes.has('call 49')).toBe(false))
  expect(await ledger.claim('payment', 60, 'principal ann')).toEqual({ state: 'fresh' })
  const other = { ...caller, principal: { id: 'ann' } }
  const { question } = await ask(process({ self: dead }), 'a', 'hers', { ...call, ...other })
  expect(await process({ ledger }).take(answerTo(question, 'A'), other, gone)).toMatchObject({ kind: 'resumed' })
})

test('instances that share a ledger resume a call once between them', async () => {
  const { question } = await ask(process({ self: dead }), 'a')
  const ledger = memoryLedger()
  const takes = [process({ ledger }), process({ ledger })].map((pushes) =>
    pushes.take(answerTo(question, 'A'), caller, gone),
  )
  expect((await Promise.all(takes)).filter(({ kind }) => kind === 'resumed')).toHaveLength(1)
})

describe('an answer to a question of another instance', () => {
  test('belongs there as long as nobody found it gone, also when it brings its state', async () => {
    const self = new Self('http://owner/mcp')
    const { question } = await ask(process({ self }), 'a')
    expect(await process().take(answerTo(question, 'A'), caller)).toMatchObject({
      kind: 'elsewhere',
      instance: { id: self.id, url: self.url },
    })
  })

  test('is told to be unreachable where that instance has no address and there is no bus', async () => {
    const { question } = await ask(process({ self: new Self() }), 'a')
    expect(await process().take(answerTo(question, 'A'), caller)).toEqual({ kind: 'unreachable' })
  })

  test('is lost with that instance where there is no state', async () => {
    const { question } = await ask(process({ self: dead }), 'a')
    expect(await process().take(answerTo({ id: question['id'] }, 'A'), caller, gone)).toEqual({ kind: 'lost' })
  })
})

test('a call that went on elsewhere is left to that instance when its answer comes to the first one after all', async () => {
  const ledger = memoryLedger()
  const [first, second] = [new Self('http://a/mcp'), new Self('http://b/mcp')]
  const before = process({ ledger, self: first })
  const { question, answer } = await ask(before, 'a')
  await process({ ledger, self: second }).take(answerTo(question, 'A'), caller, new Set([first.id]))
  expect(await before.take(answerTo(question, 'A'), caller)).toMatchObject({
    kind: 'elsewhere',
    instance: { id: second.id },
  })
  await expect(answer).rejects.toThrow('Another instance continues')
})

test('an answer that comes again after its call was handed off goes to the new owner, and resumes the call when that is gone', async () => {
  const { question } = await ask(process({ self: dead }), 'a')
  const owner = new Self('http://next/mcp')
  const ledger = memoryLedger()
  const pushes = process({ ledger, handOff: async () => owner })
  expect(await pushes.take(answerTo(question, 'A'), caller, gone)).toMatchObject({ kind: 'resumed' })
  await ask(pushes, 'b')
  await pushes.drain(patience)
  const again = (lost: ReadonlySet<string>) => pushes.take(answerTo(question, 'A'), caller, lost)
  expect(await again(gone)).toMatchObject({ kind: 'elsewhere', instance: { id: owner.id } })
  expect(await again(new Set([...gone, owner.id]))).toMatchObject({ kind: 'resumed' })
})

test('a call on a connection that no other instance has waits for its answer also while the process stops', async () => {
  const handOff = vi.fn(async () => new Self('http://next/mcp'))
  const pushes = process({ handOff })
  let answer: Promise<unknown> = Promise.resolve()
  const question = await new Promise<Json>((send) => {
    answer = pushes.push(call, request, { id: 'call', key: 'a', body: () => ({}) }, stream, { send })
  })
  await pushes.drain(patience)
  await pushes.take(answerTo(question, 'A'), caller)
  expect([await answer, handOff.mock.calls]).toEqual([{ roots: ['A'] }, []])
})

describe('a process that stops before it has met another', () => {
  // Its client keeps no state, so nobody else could go on with its call.
  const plainPeer = { ...peer, capabilities: {} }
  const plain = { ...call, peer: plainPeer } as Call
  const next = new Self('http://next/mcp')

  test('lets a call go on with its answer, and hands it over when it asks again and another is there', async () => {
    let isThere = false
    const handOff = vi.fn(async () => next)
    const pushes = process({ canHandOff: async () => isThere, handOff })
    const first = await ask(pushes, 'a', 'call', plain)
    const drained = pushes.drain(patience)
    await pushes.take(answerTo(first.question, 'A'), { peer: plainPeer, principal: undefined })
    expect(await first.answer).toEqual({ roots: ['A'] })
    await drained
    expect(handOff).not.toHaveBeenCalled()
    isThere = true
    const second = await ask(pushes, 'b', 'call', plain)
    await expect(second.answer).rejects.toThrow('Another instance continues')
    expect(handOff).toHaveBeenCalledTimes(1)
  })

  test('offers a call again when one that was there did not take it', async () => {
    const handOff = vi.fn<() => Promise<Self | undefined>>(async () => next).mockResolvedValueOnce(undefined)
    const pushes = process({ handOff })
    const { answer } = await ask(pushes, 'a', 'call', plain)
    await pushes.drain(patience)
    await expect(answer).rejects.toThrow('Another instance continues')
    expect(handOff).toHaveBeenCalledTimes(2)
  })

  test('tells the calls that are left when its patience is over, and those that ask later at once', async () => {
    const over = new AbortController()
    const pushes = process({ canHandOff: async () => false })
    const { answer } = await ask(pushes, 'a', 'call', plain)
    const drained = pushes.drain(over.signal)
    over.abort()
    await drained
    await expect(answer).rejects.toThrow('knows no other')
    const late = await ask(pushes, 'a', 'another call', plain)
    await expect(late.answer).rejects.toThrow('knows no other')
  })
})

describe('an answer that comes while the process stops', () => {
  /** A ledger that answers when it is told to. */
  function slowLedger() {
    const inner = memoryLedger()
    let open = (): void => {}
    const opened = new Promise<void>((resolve) => (open = resolve))
    const claim = (id: string, seconds: number) => opened.then(() => inner.claim(id, seconds))
    return { ledger: { ...inner, claim }, open }
  }

  test('goes to the call here when it was being taken, and the call goes nowhere', async () => {
    const { ledger, open } = slowLedger()
    const handOff = vi.fn(async () => new Self('http://next/mcp'))
    const pushes = process({ ledger, handOff })
    const { question, answer } = await ask(pushes, 'a')
    const taken = pushes.take(answerTo(question, 'A'), caller)
    await Promise.resolve()
    const drained = pushes.drain(patience)
    open()
    await drained
    expect(await Promise.all([taken, answer])).toEqual([settled, { roots: ['A'] }])
    expect(handOff).not.toHaveBeenCalled()
  })

  test('goes to the call here when no other instance takes the call', async () => {
    let refuse = (): void => {}
    const refused = new Promise<undefined>((resolve) => (refuse = () => resolve(undefined)))
    const pushes = process({ handOff: () => refused })
    const { question, answer } = await ask(pushes, 'a')
    const drained = pushes.drain(patience)
    const taken = pushes.take(answerTo(question, 'A'), caller)
    refuse()
    await drained
    expect(await Promise.all([taken, answer])).toEqual([settled, { roots: ['A'] }])
  })
})

test('what cannot travel or be stored is served by the process that asked', async () => {
  const broken = { put: () => Promise.reject(new Error('full')), get: async () => undefined, delete: async () => {} }
  for (const options of [{ sealer: createSealer({ ...sealing, maxBytes: 300 }) }, { store: broken }]) {
    const pushes = process(options)
    const { question, answer } = await ask(pushes, 'a')
    await pushes.take(answerTo({ id: question['id'] }, 'A'), caller)
    expect(await answer).toEqual({ roots: ['A'] })
  }
})

test.each([
  ['that the client is to echo', call, {}, [true, true, true, false]],
  ['that only this process can take', call, { carry: 'process' as const }, [false, false, false, false]],
  [
    'of a client that echoes nothing',
    { ...call, peer: { ...peer, capabilities: {} } },
    {},
    [false, false, false, false],
  ],
])(
  'a stream knows whether an answer is owed from which any instance can go on: of two %s',
  async (_, by, more, told) => {
    const pushes = process()
    const noted: boolean[] = []
    const sent: Json[] = []
    const on = { ...stream, noteOwed: (question: string | undefined) => void noted.push(question !== undefined) }
    const asked = ['a', 'b'].map((key) =>
      pushes.push(by, request, { id: 'call', key, body: () => ({}), ...more }, on, { send: (each) => sent.push(each) }),
    )
    await vi.waitFor(() => expect(sent).toHaveLength(2))
    for (const question of sent) await pushes.take(answerTo(question, 'A'), by)
    await Promise.all(asked)
    expect(noted).toEqual(told)
  },
)

describe('calls that wait', () => {
  interface Asks extends Partial<PushStream> {
    session?: string
    address?: string
    params?: Json
  }
  /** A call of its own that asks one question on a stream of its own. */
  const asks = (pushes: PushBroker, id: string, { session = 's', params = {}, address, ...on }: Asks = {}) => {
    const own = { ...call, params, address, peer: { ...peer, session } }
    const answer = pushes.push(
      own,
      request,
      { id, key: 'a', body: () => ({}) },
      { ...stream, ...on },
      {
        send() {},
        elsewhere: { contents: () => ({ name: 'stream', position: 0, kept: [], progress: null }), handOff() {} },
      },
    )
    answer.catch(() => {})
    return answer
  }
  const outcome = (answer: Promise<unknown>) =>
    Promise.race([answer, new Promise((done) => setTimeout(done, 20, 'waits'))])

  test.each([
    ['of one session', { maxWaitingPerCaller: 2 }],
    ['of the process', { maxWaiting: 2 }],
  ])('over the limit %s end with the oldest whose client has gone', async (_, limits) => {
    const pushes = process(limits)
    const here = asks(pushes, 'here')
    const gone = asks(pushes, 'gone', { connected: false })
    await outcome(here)
    const next = asks(pushes, 'next', { connected: false })
    await expect(gone).rejects.toMatchObject({ code: 'PUSH_UNANSWERED' })
    expect(await Promise.all([outcome(here), outcome(next)])).toEqual(['waits', 'waits'])
  })

  test('over the limit are refused where every client is there, also when they come together', async () => {
    const pushes = process({ maxWaitingPerCaller: 2 })
    const answers = ['a', 'b', 'c'].map((id) => asks(pushes, id))
    await expect(Promise.race(answers)).rejects.toThrow('Too many calls wait')
    expect(await outcome(asks(pushes, 'd', { session: 'other' }))).toBe('waits')
  })

  test('over the limit of what one caller holds end with its own oldest, and those of others stay', async () => {
    const pushes = process()
    const ended: string[] = []
    const hold = async (id: string, session: string) => {
      const answer = asks(pushes, id, { connected: false, session, params: { junk: 'x'.repeat(4_000_000) } })
      answer.catch(() => ended.push(id))
      await outcome(answer)
    }
    await hold('of another', 'other')
    for (let count = 0; count < 6; count++) await hold(`${count}`, 'greedy')
    await vi.waitFor(() => expect(ended).toEqual(['0', '1']))
  })

  test('over the limit of the process end with the oldest of the caller with the most, if its client has gone', async () => {
    const pushes = process({ maxWaiting: 4 })
    const ended: string[] = []
    const hold = async (id: string, session: string, connected = false) => {
      const answer = asks(pushes, id, { connected, session })
      answer.catch(() => ended.push(id))
      return outcome(answer)
    }
    await hold('small', 'small')
    for (const id of ['a', 'b', 'c']) await hold(id, 'large')
    expect(await hold('new', 'new')).toBe('waits')
    await hold('next', 'next')
    expect(ended).toEqual(['a', 'b'])
  })

  test('of one address have half of the room, in whatever sessions, and other addresses the rest', async () => {
    const pushes = process({ maxWaiting: 4 })
    for (const session of ['a', 'b'])
      expect(await outcome(asks(pushes, session, { session, address: '::1' }))).toBe('waits')
    await expect(asks(pushes, 'c', { session: 'c', address: '::2' })).rejects.toThrow('Too many calls wait')
    for (const session of ['d', 'e']) {
      expect(await outcome(asks(pushes, session, { session, address: '192.0.2.1' }))).toBe('waits')
    }
  })

  test('of one address, when they are too many, end in the session that has the most', async () => {
    const pushes = process({ maxWaiting: 8 })
    const ended: string[] = []
    const hold = async (id: string, session: string) => {
      const answer = asks(pushes, id, { connected: false, session, address: '192.0.2.1' })
      answer.catch(() => ended.push(id))
      await outcome(answer)
    }
    await hold('small', 'small')
    for (const id of ['a', 'b', 'c']) await hold(id, 'large')
    await hold('new', 'new')
    expect(ended).toEqual(['a'])
  })

  test('may ask more than one question each', async () => {
    const pushes = process({ maxWaitingPerCaller: 1 })
    expect(await outcome(asks(pushes, 'a'))).toBe('waits')
    expect(await outcome(asks(pushes, 'a'))).toBe('waits')
  })
})

test('an answer that came before a call asked here anew, from somebody who may not give it, leaves the question open', async () => {
  const pushes = process()
  const { question } = await ask(process({ self: dead }), 'a')
  const id = question['id'] as string
  const name = nameOf(question, caller)
  const journal = writeJournal(newJournal('call'))
  const handedOff = {
    call: 'call',
    generation: 0,
    carried: false,
    request: { id: 1, method: 'tools/call', params: {} },
  }
  await pushes.resume({ ...handedOff, journal, questions: [{ key: 'a', question: name, id }] }, 'stream', caller)
  expect(await pushes.take(answerTo(question, 'A'), caller, gone)).toEqual(settled)
  let may = false
  const onAnswer = vi.fn()
  const carried = { id: 'call', key: 'a', body: () => journal, mayAnswer: () => may, onAnswer }
  const answer = pushes.push(call, request, carried, stream, { send: (): never => expect.unreachable() })
  expect(await pushes.take(answerTo(question, 'B'), caller, gone)).toEqual(settled)
  may = true
  expect(await pushes.take(answerTo(question, 'C'), caller, gone)).toEqual(settled)
  expect(await answer).toEqual({ roots: ['C'] })
  expect(onAnswer.mock.calls).toEqual([[caller]])
})

/** Its answers bring no state, which would name the caller. */
const echoless = { ...legacyPeer({ version: '2025-11-25', client: undefined, capabilities: {} }), session: 's' }

test.each([
  ['somebody else in the same session', { principal: { id: 'bob' } }],
  ['nobody known in the same session', { principal: undefined }],
  ['another session of the same principal', { peer: { ...echoless, session: 'other' } }],
])('an answer of %s is ignored, and the question stays open', async (_, other) => {
  const pushes = process()
  const ann = { peer: echoless, principal: { id: 'ann' } }
  const { question, answer } = await ask(pushes, 'a', 'call', { ...call, ...ann })
  expect(await pushes.take(answerTo(question, 'theirs'), { ...ann, ...other }, gone)).toEqual(settled)
  expect(await pushes.take(answerTo(question, 'hers'), ann, gone)).toEqual(settled)
  expect(await answer).toEqual({ roots: ['hers'] })
})

describe('an answer to a question of an instance that is gone, without a state of the client,', () => {
  const from = { ...caller, peer: echoless }

  test('is ignored when its call was handed over and has ended here', async () => {
    let now = 0
    const pushes = process({ clock: () => now })
    const { question } = await ask(process({ self: dead }), 'a', 'call', { ...call, ...from })
    const answer = answerTo(question, 'late')
    const questions = [{ key: 'a', question: nameOf(question, from), id: question['id'] as string }]
    const handedOff = {
      call: 'call',
      generation: 0,
      carried: false,
      questions,
      journal: writeJournal(newJournal('call')),
    }
    await pushes.resume({ ...handedOff, request: { id: 1, method: 'tools/call', params: {} } }, 'stream', from)
    pushes.end('call')
    expect(await pushes.take(answer, from, gone)).toEqual(settled)
    expect(pushes.isAwaited('call', gone)).toBe(true)
    now = 60_000
    expect(await pushes.take(answer, from, gone)).toEqual({ kind: 'lost' })
  })

  test('is ignored when its call went on from the store and has ended here', async () => {
    const stored = { store: memoryCarryStore(), rules: new CarryRules('store', true) }
    const { question } = await ask(process({ ...stored, self: dead }), 'a', 'call', { ...call, ...from })
    const pushes = process(stored)
    expect(await pushes.take(answerTo(question, 'A'), from, gone)).toMatchObject({ kind: 'resumed' })
    pushes.end('call')
    expect(await pushes.take(answerTo(question, 'A'), from, gone)).toEqual(settled)
  })
})

test('a claim on a call outlives the states it guards', async () => {
  const { question } = await ask(process({ self: dead }), 'a')
  const claimed: number[] = []
  const inner = memoryLedger()
  const ledger = { ...inner, claim: (id: string, seconds: number) => (claimed.push(seconds), inner.claim(id, seconds)) }
  await process({ ledger, ttlSeconds: 60 }).take(answerTo(question, 'A'), caller, gone)
  expect(claimed).toEqual([120])
})

test.each([
  ['from outside any session', 'a'.repeat(32), { peer: unknownPeer(undefined), principal: undefined }],
  ['with a number for an id', 7, caller],
  ['with an id that is none of ours', 'x'.repeat(100_000), caller],
])('an answer %s troubles neither the store nor the bus', async (_, id, from) => {
  const asked: string[] = []
  const store = { put: async () => {}, get: async (name: string) => void asked.push(name), delete: async () => {} }
  const bus = { publish: () => void asked.push('bus'), subscribe: () => () => {} }
  const answer = { kind: 'response', id, state: undefined, result: {}, error: undefined } as const
  expect(await process({ store, bus }).take(answer, from)).toEqual(settled)
  expect(asked).toEqual([])
})

test('a question that cannot be sent fails at once, and nothing waits for its answer', async () => {
  const pushes = process()
  const carried = { id: 'call', key: 'key', body: () => writeJournal(newJournal('call')) }
  const send = (): never => {
    throw new RangeError('Maximum call stack size exceeded')
  }
  await expect(pushes.push(call, request, carried, stream, { send })).rejects.toThrow('Maximum call stack')
  expect(pushes.end('call')).toEqual([])
})

test.each([
  ['asks again where an instance was killed meanwhile', true, ['notifications/cancelled', 'roots/list']],
  ['asks nothing again', false, []],
])('a call that is handed off %s', async (_, isAfterCrash, sent) => {
  const pushes = process()
  if (isAfterCrash) pushes.askAgain()
  const handedOff = {
    call: 'call',
    generation: 0,
    carried: false,
    request: { id: 1, method: 'tools/call', params: {} },
  }
  const questions = [{ key: 'a', question: 'question', id: 'id' }]
  await pushes.resume({ ...handedOff, journal: [], questions }, 'stream', caller)
  const heard: unknown[] = []
  const carried = { id: 'call', key: 'a', body: () => ({}) }
  const answer = pushes.push(call, request, carried, stream, {
    send: (...messages) => heard.push(...messages.map(({ method }) => method)),
    elsewhere: { contents: () => ({ name: 'stream', position: 0, kept: [], progress: null }), handOff() {} },
  })
  answer.catch(() => {})
  await new Promise((resolve) => setImmediate(resolve))
  expect(heard).toEqual(sent)
  pushes.end('call')
})

describe('a process that others took for gone', () => {
  test('leaves a call that another has resumed, and keeps one that no other has', async () => {
    const ledger = memoryLedger()
    const pushes = process({ self: dead, ledger })
    const [resumed, kept] = [await ask(pushes, 'a', 'resumed'), await ask(pushes, 'a', 'kept')]
    const other = process({ ledger })
    expect(await other.take(answerTo(resumed.question, 'A'), caller, gone)).toMatchObject({ kind: 'resumed' })
    await pushes.reclaim()
    await expect(resumed.answer).rejects.toThrow('Another instance continues')
    expect(await pushes.take(answerTo(kept.question, 'B'), caller)).toEqual(settled)
    expect(await kept.answer).toEqual({ roots: ['B'] })
  })

  test('leaves a call that it hands off to the new owner', async () => {
    const ledger = memoryLedger()
    const self = new Self('http://new/mcp')
    const other = process({ ledger, self })
    const handOff: PushBrokerOptions['handOff'] = async ({ name, call: handedOff }) => {
      await Promise.resolve() // the message is on its way
      void pushes.reclaim()
      resumed(handedOff && (await other.resume(handedOff, name, caller)))
      return self
    }
    const resumed = vi.fn<(call: unknown) => void>()
    const pushes = process({ self: dead, ledger, handOff })
    const { question } = await ask(pushes, 'a')
    await pushes.drain(patience)
    expect(resumed).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ id: 1 }))
    expect(await other.take(answerTo(question, 'A'), caller)).toEqual(settled)
  })

  test('asks again what it asked, and an answer to either counts', async () => {
    vi.useFakeTimers()
    try {
      const pushes = process()
      const sent: Json[] = []
      const carried = { id: 'call', key: 'a', body: () => ({}) }
      const elsewhere = { contents: () => ({ name: 's', position: 0, kept: [], progress: null }), handOff() {} }
      const answer = pushes.push(call, request, carried, stream, {
        send: (...messages) => void sent.push(...messages),
        elsewhere,
      })
      await vi.advanceTimersByTimeAsync(0)
      await pushes.reclaim()
      await vi.advanceTimersByTimeAsync(500)
      expect(sent.map(({ method }) => method)).toEqual(['roots/list', 'notifications/cancelled', 'roots/list'])
      expect(await pushes.take(answerTo(sent[2] as Json, 'A'), caller)).toEqual(settled)
      expect(await answer).toEqual({ roots: ['A'] })
    } finally {
      vi.useRealTimers()
    }
  })
})
