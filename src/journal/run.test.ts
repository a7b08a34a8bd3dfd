import { describe, expect, test } from 'vitest'
import { proves } from '../../test/proves.ts'
import { Declined, JournalError, ScopeClosed } from './errors.ts'
import { isBlank, type Journal, newJournal, readJournal, writeJournal } from './journal.ts'
import type { Question } from './question.ts'
import { Run, type RunOptions } from './run.ts'
import type { SingleUse } from './steps.ts'

/** A question whose answer is one text field. */
function about(message: string, pinned = true): Question<string> {
  return {
    request: { method: 'elicitation/create', params: { message, requestedSchema: { type: 'object', properties: {} } } },
    fingerprint: message,
    pinned,
    read: (key, response) => {
      if (response['action'] !== 'accept') throw new Declined(key, 'decline')
      const { value } = response['content'] as { value?: unknown }
      return typeof value === 'string' ? { ok: true, value } : { ok: false }
    },
  }
}

function accept(value: unknown) {
  return { action: 'accept', content: { value } }
}

const neverLedger: RunOptions['ledger'] = {
  claim: async () => ({ state: 'fresh' }),
  settle: async () => {},
  release: async () => {},
}

function runOver(journal: Journal, responses: Record<string, unknown> = {}, options: Partial<RunOptions> = {}): Run {
  return new Run(
    () => ({
      journal,
      responses,
      ledger: neverLedger,
      shared: { ledger: neverLedger, scope: () => 'everyone', caller: () => undefined },
      assertAskable: () => {},
      shedding: () => 'no',
      maxAsks: 3,
      unwindMs: 1000,
      onStuck: () => {},
      onLate: () => {},
      onRefused: () => {},
      onChanging: () => {},
      onLost: () => {},
      ...options,
    }),
    setImmediate,
  )
}

/** What the journal is at the start of the next round, on another machine. */
function carried(journal: Journal): Journal {
  return readJournal(journal.id, journal.round + 1, JSON.parse(JSON.stringify(writeJournal(journal))))
}

function keysOf(outcome: Awaited<ReturnType<Run['execute']>>): string[] {
  return outcome.kind === 'asked' ? [...outcome.requests.keys()] : [outcome.kind]
}

test('a run is replaying until it comes to work that is not in its journal', async () => {
  const journal = newJournal('call')
  const states: boolean[] = []
  const handler = (run: Run, keys: readonly string[]) => async () => {
    states.push(run.isReplaying)
    for (const key of keys) {
      await run.step(key, () => states.push(run.isReplaying))
      states.push(run.isReplaying)
    }
  }
  const first = runOver(journal)
  await first.execute(handler(first, ['a', 'b']))
  expect(states.splice(0)).toEqual([false, false, false, false, false])
  const second = runOver(carried(journal))
  await second.execute(handler(second, ['a', 'b', 'c']))
  expect(states.splice(0)).toEqual([true, true, false, false, false])
  const changed = runOver(carried(journal))
  await changed.execute(handler(changed, ['a', 'other']))
  expect(states).toEqual([true, true, false, false])
})

describe('a round', () => {
  proves('MRTR-47', 'a handler runs again from the top in each round and finds what was answered before', async () => {
    const handler = (run: Run) => async () => {
      const first = await run.ask('first', about('First?'))
      const second = await run.ask('second', about(`After ${first}?`))
      return `${first} ${second}`
    }
    const one = newJournal('call')
    const run1 = runOver(one)
    expect(keysOf(await run1.execute(handler(run1)))).toEqual(['first'])
    const two = carried(one)
    const run2 = runOver(two, { first: accept('a') })
    expect(keysOf(await run2.execute(handler(run2)))).toEqual(['second'])
    const run3 = runOver(carried(two), { second: accept('b') })
    expect(await run3.execute(handler(run3))).toEqual({ kind: 'complete', value: 'a b' })
  })

  test('asks started together go out in one round', async () => {
    const run = runOver(newJournal('call'))
    const outcome = await run.execute(() => Promise.all([run.ask('a', about('A?')), run.ask('b', about('B?'))]))
    expect(keysOf(outcome)).toEqual(['a', 'b'])
  })

  test('finally blocks run, and are waited for, before the round is over', async () => {
    const released: string[] = []
    const run = runOver(newJournal('call'))
    await run.execute(async () => {
      try {
        await run.ask('a', about('A?'))
      } finally {
        await new Promise((resolve) => setTimeout(resolve, 5))
        released.push('lock')
      }
    })
    expect(released).toEqual(['lock'])
  })

  test('a handler that never unwinds holds the answer only so long', async () => {
    let stuck = 0
    const run = runOver(newJournal('call'), {}, { unwindMs: 10, onStuck: () => stuck++ })
    const outcome = await run.execute(async () => {
      await run.ask('a', about('A?')).catch(() => new Promise(() => {}))
    })
    expect([outcome.kind, stuck]).toEqual(['asked', 1])
  })

  test('a handler that swallows the end of the round does not change the outcome', async () => {
    const journal = newJournal('call')
    const run = runOver(journal)
    const outcome = await run.execute(async () => {
      await run.ask('a', about('A?')).catch(() => {})
      await run.step('late', () => 1).catch(() => {})
      return 'done anyway'
    })
    expect(keysOf(outcome)).toEqual(['a'])
    expect(journal.steps.has('late')).toBe(false)
  })

  test('every call on the run rejects once its round has ended', async () => {
    const names: string[] = []
    const run = runOver(newJournal('call'))
    await run.execute(async () => {
      await run.ask('a', about('A?')).catch((error: unknown) => names.push((error as Error).name))
      await run.ask('b', about('B?')).catch((error: unknown) => names.push((error as Error).name))
      await run.step('c', () => 1).catch((error: unknown) => names.push((error as Error).name))
      await run.once('d', () => 1).catch((error: unknown) => names.push((error as Error).name))
      await run.checkpoint().catch((error: unknown) => names.push((error as Error).name))
    })
    expect(names).toEqual(Array.from({ length: 5 }, () => 'RoundEnded'))
  })

  test('a step under way when a question is asked is finished and recorded before the round ends', async () => {
    const journal = newJournal('call')
    const run = runOver(journal)
    const slow = () => new Promise<string>((resolve) => setTimeout(() => resolve('charged'), 20))
    const outcome = await run.execute(() => Promise.all([run.step('charge', slow), run.ask('confirm', about('Sure?'))]))
    expect(outcome.kind).toBe('asked')
    expect(journal.steps.get('charge')).toEqual({ value: 'charged' })
  })

  proves('RA-12', 'what asks after its request has ended gets ScopeClosed, which says why', async () => {
    const run = runOver(newJournal('call'))
    await run.execute(async () => 'done')
    const error = await run.ask('late', about('Still there?')).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ScopeClosed)
    expect((error as Error).message).toContain('only while it handles a request of that client')
  })

  test('an ask that nobody awaits does no harm', async () => {
    const run = runOver(newJournal('call'))
    const outcome = await run.execute(async () => {
      void run.ask('forgotten', about('?'))
      await run.ask('a', about('A?'))
    })
    expect(keysOf(outcome)).toEqual(['forgotten', 'a'])
  })
})

describe('answers', () => {
  const asked = async (journal: Journal, responses: Record<string, unknown>, question = about('A?')) => {
    const run = runOver(journal, responses)
    return run.execute(() => run.ask('a', question))
  }

  const askedOnce = async (question = about('A?')): Promise<Journal> => {
    const journal = newJournal('call')
    await asked(journal, {}, question)
    return carried(journal)
  }

  proves('MRTR-43', 'an answer that is missing, misshapen or wrong is asked for again', async () => {
    for (const bad of [
      {},
      { a: null },
      { a: 3 },
      { a: [] },
      { a: { action: 'accept' } },
      { a: { action: 'shrug' } },
      { a: accept(3) },
    ]) {
      expect(keysOf(await asked(await askedOnce(), bad))).toEqual(['a'])
    }
  })

  test('one question is asked a bounded number of times', async () => {
    let journal = newJournal('call')
    for (let round = 1; round <= 3; round++) {
      expect(keysOf(await asked(journal, { a: accept(3) }))).toEqual(['a'])
      journal = carried(journal)
    }
    const outcome = await asked(journal, { a: accept(3) })
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'ASK_EXHAUSTED' } })
  })

  test('a question whose text changes each time is asked no more often, and the error says what to do', async () => {
    const changing: string[] = []
    let journal = newJournal('call')
    const next = (round: number) => {
      const run = runOver(journal, { a: accept('yes') }, { onChanging: (key) => changing.push(key) })
      return run.execute(() => run.ask('a', about(`A, for the ${round}th time?`)))
    }
    for (let round = 1; round <= 3; round++) {
      expect(keysOf(await next(round))).toEqual(['a'])
      journal = carried(journal)
    }
    expect(await next(4)).toMatchObject({
      error: { code: 'ASK_EXHAUSTED', message: expect.stringMatching(/"a" .* another text or key .* ctx\.step/) },
    })
    expect(changing).toEqual(['a'])
  })

  test('a question whose key changes each time is asked no more often, and the error says what to do', async () => {
    const changing: string[] = []
    let journal = newJournal('call')
    const next = async (round: number) => {
      const responses = { stays: accept('yes'), [`a${round - 1}`]: accept('yes') }
      const run = runOver(journal, responses, { onChanging: (key) => changing.push(key) })
      const outcome = await run.execute(async () => {
        await run.ask('stays', about('Stays?'))
        return run.ask(`a${round}`, about('A?'))
      })
      journal = carried(journal)
      return outcome
    }
    expect(keysOf(await next(0))).toEqual(['stays'])
    for (let round = 1; round <= 3; round++) expect(keysOf(await next(round))).toEqual([`a${round}`])
    expect(await next(4)).toMatchObject({
      kind: 'failed',
      error: { code: 'ASK_EXHAUSTED', message: expect.stringMatching(/"a4" .* another text or key .* ctx\.step/) },
    })
    expect(changing).toEqual(['a3'])
  })

  test('a handler may ask one question after the other, each under a key of its own', async () => {
    let journal = newJournal('call')
    for (let round = 1; round <= 9; round++) {
      const run = runOver(journal, { [`a${round - 1}`]: accept('yes') })
      const outcome = await run.execute(async () => {
        for (let key = 1; ; key++) await run.ask(`a${key}`, about('A?'))
      })
      expect(keysOf(outcome)).toEqual([`a${round}`])
      journal = carried(journal)
    }
  })

  test('an unpinned question too is asked a bounded number of times', async () => {
    let journal = newJournal('call')
    for (let round = 1; round <= 3; round++) {
      const outcome = await asked(journal, round === 1 ? {} : { a: accept(3) }, about('A?', false))
      expect(keysOf(outcome)).toEqual(['a'])
      journal = isBlank(journal) ? newJournal('fresh') : carried(journal)
    }
    expect(await asked(journal, { a: accept(3) }, about('A?', false))).toMatchObject({
      error: { code: 'ASK_EXHAUSTED' },
    })
  })

  proves('MRTR-42', 'answers that nobody asked for are ignored', async () => {
    const outcome = await asked(await askedOnce(), {
      a: accept('yes'),
      other: accept('no'),
      ['__proto__']: accept('no'),
    })
    expect(outcome).toEqual({ kind: 'complete', value: 'yes' })
  })

  test('a question that changed under its key is asked again, and its old answer is not used', async () => {
    expect(keysOf(await asked(await askedOnce(about('Pay 100?')), { a: accept('yes') }, about('Pay 200?')))).toEqual([
      'a',
    ])
  })

  test('a pinned question takes no answer that came before it was asked', async () => {
    expect(keysOf(await asked(newJournal('call'), { a: accept('yes') }))).toEqual(['a'])
  })

  test('an unpinned question needs no state in its first round and takes any fitting answer', async () => {
    const journal = newJournal('call')
    await asked(journal, {}, about('A?', false))
    expect(isBlank(journal)).toBe(true)
    expect(await asked(newJournal('other'), { a: accept('yes') }, about('B?', false))).toEqual({
      kind: 'complete',
      value: 'yes',
    })
  })

  proves('MRTR-12', 'an answer that this round does not come to is kept for the next one', async () => {
    const journal = newJournal('call')
    const old = runOver(journal)
    await old.execute(() => Promise.all([old.ask('github', about('GitHub?')), old.ask('google', about('Google?'))]))
    const upgraded = carried(journal)
    const run = runOver(upgraded, { github: accept('octocat'), google: accept('g') })
    const handler = (now: Run) => async () => [
      await now.ask('microsoft', about('Microsoft?')),
      await now.ask('github', about('GitHub?')),
    ]
    expect(keysOf(await run.execute(handler(run)))).toEqual(['microsoft'])
    const last = runOver(carried(upgraded), { microsoft: accept('m') })
    expect(await last.execute(handler(last))).toEqual({ kind: 'complete', value: ['m', 'octocat'] })
  })

  test('one key for two different questions is an error that names the key', async () => {
    const run = runOver(newJournal('call'))
    const outcome = await run.execute(() => Promise.all([run.ask('a', about('A?')), run.ask('a', about('B?'))]))
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { code: 'KEY_REUSED', message: expect.stringContaining('"a"') },
    })
  })

  test('one key twice for the same question is one question', async () => {
    const run = runOver(newJournal('call'))
    const outcome = await run.execute(() => Promise.all([run.ask('a', about('A?')), run.ask('a', about('A?'))]))
    expect(keysOf(outcome)).toEqual(['a'])
  })

  test.each(['', 'x'.repeat(257), 3 as unknown as string])('the key %j is refused', async (key) => {
    const run = runOver(newJournal('call'))
    expect(await run.execute(() => run.ask(key, about('A?')))).toMatchObject({
      kind: 'failed',
      error: { code: 'KEY_INVALID' },
    })
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'the key %s is a key like others',
    async (key) => {
      const journal = newJournal('call')
      const run = runOver(journal)
      expect(keysOf(await run.execute(() => run.ask(key, about('A?'))))).toEqual([key])
      const next = runOver(carried(journal), Object.fromEntries([[key, accept('yes')]]))
      expect(await next.execute(() => next.ask(key, about('A?')))).toEqual({ kind: 'complete', value: 'yes' })
    },
  )

  proves('MRTR-46', 'over a live connection the answer comes in place, and a bad one is asked for again', async () => {
    const answers = [accept(3), accept('yes')]
    const journal = newJournal('call')
    const run = runOver(journal, {}, { push: async () => answers.shift() })
    expect(await run.execute(() => run.ask('a', about('A?')))).toEqual({ kind: 'complete', value: 'yes' })
    expect(journal.answers.has('a')).toBe(true)
  })
})

describe('steps', () => {
  test('do not begin in a run that is over, and those that are done come from the journal all the same', async () => {
    const journal = newJournal('call')
    let isStopped = false
    const began: string[] = []
    const run = runOver(journal, {}, { isStopped: () => isStopped })
    const step = (key: string) => run.step(key, () => began.push(key))
    const outcome = await run.execute(async () => {
      await step('before')
      isStopped = true
      await step('after')
    })
    expect([began, outcome]).toEqual([
      ['before'],
      { kind: 'failed', error: expect.objectContaining({ code: 'SCOPE_CLOSED' }) },
    ])
    const again = runOver(journal, {}, { isStopped: () => true })
    const replayed = await again.execute(() => again.step('before', () => began.push('again')))
    expect([replayed.kind, began]).toEqual(['complete', ['before']])
    const late = runOver(journal, {}, { isStopped: () => true })
    expect((await late.execute(() => late.once('pay', () => began.push('paid')))).kind).toBe('failed')
    expect(began).toEqual(['before'])
  })

  test('a claim that took so long that the run is over does not begin its work, and is withdrawn', async () => {
    let isStopped = false
    const calls: string[] = []
    const ledger: SingleUse = {
      claim: async () => {
        isStopped = true
        return { state: 'fresh' }
      },
      settle: async () => void calls.push('settle'),
      release: async () => void calls.push('release'),
    }
    const run = runOver(newJournal('call'), {}, { ledger, isStopped: () => isStopped })
    const outcome = await run.execute(() => run.once('pay', () => calls.push('pay')))
    expect([calls, outcome]).toEqual([
      ['release'],
      { kind: 'failed', error: expect.objectContaining({ code: 'SCOPE_CLOSED' }) },
    ])
  })

  test('a step runs in the first round and is replayed in the next', async () => {
    let runs = 0
    const handler = (run: Run) => async () => {
      const id = await run.step('create', () => `item-${++runs}`)
      await run.ask('a', about('A?'))
      return id
    }
    const journal = newJournal('call')
    const first = runOver(journal)
    await first.execute(handler(first))
    const second = runOver(carried(journal), { a: accept('yes') })
    expect(await second.execute(handler(second))).toEqual({ kind: 'complete', value: 'item-1' })
    expect(runs).toBe(1)
  })

  test.each([[undefined], [null], [0], ['text'], [{ at: '2026-01-01T00:00:00.000Z' }], [[1, 2]]])(
    '%j comes back as it was',
    async (value) => {
      const journal = newJournal('call')
      const run = runOver(journal)
      await run.execute(() => run.step('s', () => value))
      const replay = runOver(carried(journal))
      expect(await replay.execute(() => replay.step('s', () => 'not again'))).toEqual({ kind: 'complete', value })
    },
  )

  test('the first run gives what a replay would give', async () => {
    const run = runOver(newJournal('call'))
    const outcome = await run.execute(() => run.step('when', () => ({ at: new Date(0) as unknown })))
    expect(outcome).toEqual({ kind: 'complete', value: { at: '1970-01-01T00:00:00.000Z' } })
  })

  test.each([
    [() => {}],
    [1n],
    [Number.NaN],
    [Symbol('s')],
    [{ deep: 1n }],
    [new Map()],
    [{ list: [new Set([1])] }],
    [{ fn: () => {} }],
    [new Error('x')],
  ])('a result that JSON cannot hold is refused at once', async (value) => {
    const run = runOver(newJournal('call'))
    expect(await run.execute(() => run.step('s', () => value as unknown))).toMatchObject({
      error: { code: 'STEP_NOT_STORABLE' },
    })
  })

  test('a step that fails is not recorded', async () => {
    const journal = newJournal('call')
    const run = runOver(journal)
    await run.execute(() => run.step('s', () => Promise.reject(new Error('down'))))
    expect(journal.steps.size).toBe(0)
  })

  test('two steps with one key are an error that names the key', async () => {
    const run = runOver(newJournal('call'))
    const outcome = await run.execute(async () => [await run.step('s', () => 1), await run.step('s', () => 2)])
    expect(outcome).toMatchObject({ error: { code: 'KEY_REUSED', message: expect.stringContaining('"s"') } })
  })
})

test('a question inside a step is an error and not a wait without end', async () => {
  const run = runOver(newJournal('call'))
  const outcome = await run.execute(() => run.step('pay', () => run.ask('sure', about('Sure?'))))
  expect(outcome).toMatchObject({
    kind: 'failed',
    error: { code: 'ASK_IN_STEP', message: expect.stringContaining('"pay"') },
  })
  const checkpoint = runOver(newJournal('call'), {}, { shedding: () => 'draining' })
  expect(await checkpoint.execute(() => checkpoint.step('pay', () => checkpoint.checkpoint()))).toMatchObject({
    error: { code: 'ASK_IN_STEP' },
  })
})

describe('once', () => {
  const ledgerWith = (state: 'fresh' | 'running' | 'done', log: string[] = []): RunOptions['ledger'] => ({
    claim: async (id) => {
      log.push(`claim ${id}`)
      return state === 'done' ? { state, value: 'earlier' } : { state }
    },
    settle: async (id, value) => void log.push(`settle ${id} ${String(value)}`),
    release: async (id) => void log.push(`release ${id}`),
  })

  test('its claim is given back before its failure is seen, so that whoever tries again at once finds it free', async () => {
    const log: string[] = []
    const release = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      log.push('released')
    }
    const run = runOver(newJournal('call'), {}, { ledger: { ...ledgerWith('fresh', []), release } })
    await run.execute(async () => {
      const failing = run.once('pay', () => Promise.reject(new Error('declined')))
      await failing.catch((error: unknown) => log.push(String(error)))
    })
    expect(log).toEqual(['released', 'Error: declined'])
  })

  test('it claims, hands over an idempotency key, and settles', async () => {
    const log: string[] = []
    const run = runOver(newJournal('call'), {}, { ledger: ledgerWith('fresh', log) })
    const outcome = await run.execute(() => run.once('pay', (key) => key))
    expect(outcome).toMatchObject({ value: expect.stringMatching(/^[0-9a-f]{32}$/) })
    expect(log).toEqual(['claim call/pay', `settle call/pay ${(outcome as { value: string }).value}`])
  })

  test('an attempt that finished elsewhere gives its result and is not repeated', async () => {
    const run = runOver(newJournal('call'), {}, { ledger: ledgerWith('done') })
    expect(await run.execute(() => run.once('pay', () => 'again'))).toEqual({ kind: 'complete', value: 'earlier' })
  })

  test('an attempt whose end is unknown is not repeated, unless its author says that is harmless', async () => {
    const run = runOver(newJournal('call'), {}, { ledger: ledgerWith('running') })
    expect(await run.execute(() => run.once('pay', () => 'again'))).toMatchObject({ error: { code: 'ONCE_UNSETTLED' } })
    const retry = runOver(newJournal('call'), {}, { ledger: ledgerWith('running') })
    expect(await retry.execute(() => retry.once('pay', () => 'again', { retryUnsettled: true }))).toMatchObject({
      value: 'again',
    })
  })

  test('a failure releases the claim', async () => {
    const log: string[] = []
    const run = runOver(newJournal('call'), {}, { ledger: ledgerWith('fresh', log) })
    await run.execute(() => run.once('pay', () => Promise.reject(new Error('refused'))))
    expect(log).toEqual(['claim call/pay', 'release call/pay'])
  })
})

test('once keeps its claim when the effect happened but its result cannot be kept', async () => {
  const released: string[] = []
  const ledger = { ...neverLedger, release: async (id: string) => void released.push(id) }
  const run = runOver(newJournal('call'), {}, { ledger })
  expect(await run.execute(() => run.once('pay', () => 1n))).toMatchObject({
    error: { code: 'STEP_NOT_STORABLE' },
  })
  expect(released).toEqual([])
})

describe('checkpoints', () => {
  const shed = async (shedding: 'no' | 'busy' | 'draining', work: boolean) => {
    const run = runOver(newJournal('call'), {}, { shedding: () => shedding })
    return run.execute(async () => {
      if (work) await run.step('work', () => 1)
      await run.checkpoint()
      return 'here'
    })
  }

  proves(
    'MRTR-13',
    'a draining process hands over, a busy one only what it has moved, an idle one nothing',
    async () => {
      expect(await shed('no', true)).toEqual({ kind: 'complete', value: 'here' })
      expect(await shed('busy', false)).toEqual({ kind: 'complete', value: 'here' })
      expect(await shed('busy', true)).toEqual({ kind: 'asked', requests: new Map() })
      expect(await shed('draining', false)).toEqual({ kind: 'asked', requests: new Map() })
    },
  )

  test('a call that is handed over says so before its round ends', async () => {
    const events: string[] = []
    const onHandOff = () => void events.push('handed over')
    const run = runOver(newJournal('call'), {}, { shedding: () => 'busy', onHandOff })
    await run.execute(async () => {
      await run.checkpoint() // it has done nothing yet
      await run.step('work', () => events.push('work'))
      const checked = run.checkpoint()
      events.push('checked')
      await checked
    })
    expect(events).toEqual(['work', 'handed over', 'checked'])
  })

  test('a call that is answered in place stays where it is', async () => {
    const run = runOver(newJournal('call'), {}, { shedding: () => 'draining', push: async () => accept('x') })
    expect(await run.execute(() => run.checkpoint())).toEqual({ kind: 'complete', value: undefined })
  })
})

test('a journal of a shape nobody wrote is refused with a code', () => {
  expect(() => readJournal('call', 1, { a: 3 })).toThrow(JournalError)
})

describe('a promise that a handler was given', () => {
  const declined = () => Promise.reject(new Error('declined'))

  test('and did not wait for fails the round, by its name', async () => {
    const run = runOver(newJournal('call'))
    const outcome = await run.execute(() => void run.give('the step "pay"', Promise.resolve(1)))
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { code: 'AWAIT_MISSING', message: expect.stringContaining('the step "pay"') },
    })
  })

  test('that rejected is waited for by whoever catches it', async () => {
    const run = runOver(newJournal('call'))
    const outcome = await run.execute(async () => {
      try {
        await run.give('the step "pay"', declined())
      } catch {
        return 'went on'
      }
      return 'never'
    })
    expect(outcome).toEqual({ kind: 'complete', value: 'went on' })
  })

  test('that rejected before the handler returned, and that nobody waited for, is lost, and said so once', async () => {
    const lost: unknown[] = []
    const run = runOver(newJournal('call'), {}, { onLost: (...what: unknown[]) => void lost.push(what) })
    const outcome = await run.execute(async () => {
      void run.give('the step "pay"', declined())
      await new Promise((resolve) => setImmediate(resolve))
      return 'went on'
    })
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'AWAIT_MISSING' } })
    expect(lost).toEqual([['the step "pay"', new Error('declined')]])
  })
})

describe('a handler without a promise', () => {
  test('ends its run at once', () => {
    expect(runOver(newJournal('j')).execute(() => 5)).toEqual({ kind: 'complete', value: 5 })
  })

  test('is waited for when it returns something with a "then"', async () => {
    // oxlint-disable-next-line unicorn/no-thenable -- such as the query of a database
    const later = { then: (resolve: (value: number) => void) => resolve(5) } as Promise<number>
    expect(await runOver(newJournal('j')).execute(() => later)).toEqual({ kind: 'complete', value: 5 })
  })

  test('fails when it throws', async () => {
    const failing = (): never => {
      throw new TypeError('no')
    }
    expect(await runOver(newJournal('j')).execute(failing)).toMatchObject({ kind: 'failed', error: TypeError('no') })
  })
})
