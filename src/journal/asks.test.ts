import { describe, expect, test } from 'vitest'
import { type AskOptions, Asks } from './asks.ts'
import type { Question, Reading } from './question.ts'
import type { JournalError } from './errors.ts'
import { type AnsweredBy, type Approvers, type Journal, newJournal } from './journal.ts'
import { RoundLifecycle } from './roundLifecycle.ts'

const elicit = (message: string): Question<string>['request'] => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: {} } },
})

/** A question whose answer is one text; what is wrong with another one is that it is none. */
function about(message: string, more: Partial<Question<string>> = {}): Question<string> {
  return {
    request: elicit(message),
    fingerprint: message,
    pinned: true,
    read: (_, response): Reading<string> => {
      const { value } = response['content'] as { value?: unknown }
      return typeof value === 'string' ? { ok: true, value } : { ok: false, issues: 'It is no text.' }
    },
    ...more,
  }
}

const accept = (value: unknown) => ({ action: 'accept', content: { value } })
const ann = { id: 'ann', subject: 'ann', claims: {} }
const managers: Approvers = { by: ['role:manager'], fourEyes: false }

/** The questions of one run, and what they told. */
function begin(journal: Journal = newJournal('call'), options: Partial<AskOptions> = {}, detach = async () => {}) {
  const [refused, changing, askable] = [[] as string[], [] as string[], [] as string[]]
  let hasEnded = false
  const lifecycle = new RoundLifecycle(setImmediate, { roundEnded: () => void (hasEnded = true) })
  const asks = new Asks(
    journal,
    lifecycle,
    {
      responses: {},
      maxAsks: 3,
      assertAskable: ({ params }) => void askable.push((params as { message: string }).message),
      onRefused: (key) => void refused.push(key),
      onChanging: (key) => void changing.push(key),
      ...options,
    },
    detach,
  )
  const sent = () => [...asks.waiting.values()].map(({ params }) => (params as { message: string }).message)
  return { asks, lifecycle, journal, refused, changing, askable, sent, hasEnded: () => hasEnded }
}

/** A journal in which this question was asked and has no answer yet. */
function askedBefore(question: Question<string>, times = 1, key = 'a'): Journal {
  const journal = newJournal('call')
  journal.open.set(key, { question: question.fingerprint, times })
  return journal
}

describe('an answer that does not fit', () => {
  const responses = { a: accept(3) }

  test('is reported and forgotten, and the question says what was wrong', async () => {
    const question = about('Name?', { again: (issues) => elicit(`Name? ${issues}`) })
    const { asks, journal, refused, askable, sent } = begin(askedBefore(question), { responses })
    await expect(asks.ask('a', question)).rejects.toThrow('This round has ended')
    expect([refused, askable, sent()]).toEqual([['a'], ['Name? It is no text.'], ['Name? It is no text.']])
    expect([journal.answers.has('a'), asks.gained]).toEqual([false, 0])
    expect(journal.open.get('a')).toMatchObject({ times: 2 })
  })

  test('leaves the question as it was where it has no other words, or nobody knows what was wrong', async () => {
    const plain = begin(askedBefore(about('Name?')), { responses })
    await expect(plain.asks.ask('a', about('Name?'))).rejects.toThrow()
    const silent = about('Name?', { read: () => ({ ok: false }), again: () => elicit('Never.') })
    const unexplained = begin(askedBefore(silent), { responses })
    await expect(unexplained.asks.ask('a', silent)).rejects.toThrow()
    expect([plain.sent(), unexplained.sent()]).toEqual([['Name?'], ['Name?']])
  })

  test('of the last time fails the call, and the error does not blame the question', async () => {
    const { asks } = begin(askedBefore(about('Name?'), 3), { responses })
    await expect(asks.ask('a', about('Name?'))).rejects.toThrow('No usable answer to "a"')
  })

  test('is asked for again only while the round goes on', async () => {
    const judged = Promise.withResolvers<Reading<string>>()
    const slow = about('Name?', { read: () => judged.promise })
    const { asks, sent, hasEnded } = begin(askedBefore(slow), { responses })
    const answer = asks.ask('a', slow)
    await expect(asks.ask('b', about('Other?'))).rejects.toThrow()
    judged.resolve({ ok: false })
    await expect(answer).rejects.toThrow('This round has ended')
    expect([hasEnded(), sent()]).toEqual([true, ['Other?']])
  })
})

describe('an answer that fits', () => {
  test('is kept, counts once as progress, and is no longer open', async () => {
    const first = begin(askedBefore(about('Name?')), { responses: { a: accept('ann') } })
    expect(await first.asks.ask('a', about('Name?'))).toBe('ann')
    expect([first.asks.gained, first.refused, first.journal.open.size]).toEqual([1, [], 0])
    expect(first.journal.answers.get('a')).toEqual({ question: 'Name?', response: accept('ann') })
    const next = begin(first.journal)
    expect(await next.asks.ask('a', about('Name?'))).toBe('ann')
    expect([next.asks.gained, next.askable]).toEqual([0, []])
  })

  test('of a question without a state is progress as well', async () => {
    const { asks } = begin(newJournal('call'), { responses: { a: accept('ann') } })
    expect(await asks.ask('a', about('Name?', { pinned: false }))).toBe('ann')
    expect(asks.gained).toBe(1)
  })

  test('is not given to a handler whose round has ended, at the first time or again', async () => {
    const journal = askedBefore(about('Name?'))
    journal.answers.set('b', { question: 'Other?', response: accept('bob') })
    const { asks } = begin(journal, { responses: { a: accept('ann') } })
    await asks.ask('a', about('Name?'))
    await expect(asks.ask('c', about('Third?'))).rejects.toThrow('This round has ended')
    await expect(asks.ask('a', about('Name?'))).rejects.toThrow('This round has ended')
    await expect(asks.ask('b', about('Other?'))).rejects.toThrow('This round has ended')
  })
})

describe('a question that changes', () => {
  test('is told at its second change and not before, and its old answer is forgotten', async () => {
    const next = async (journal: Journal, round: number) => {
      const { asks, changing } = begin(journal, { responses: { a: accept('ann') }, maxAsks: 9 })
      await expect(asks.ask('a', about(`${round}?`))).rejects.toThrow()
      return { changing, hasAnswer: journal.answers.has('a'), open: journal.open.get('a') }
    }
    const journal = askedBefore(about('0?'))
    expect(await next(journal, 1)).toMatchObject({ changing: [], hasAnswer: false, open: { times: 1, changes: 1 } })
    expect(await next(journal, 2)).toMatchObject({ changing: ['a'], hasAnswer: false, open: { changes: 2 } })
    expect(await next(journal, 3)).toMatchObject({ changing: [], open: { changes: 3 } })
  })

  test('its key counts as changed when none of the last questions is asked again, and these are forgotten', async () => {
    const { asks, changing, journal } = begin(askedBefore(about('Name?'), 1, 'old'))
    await expect(asks.ask('new', about('Name?'))).rejects.toThrow()
    expect([asks.endRound(), changing, [...journal.open.keys()]]).toEqual([undefined, [], ['new']])
    expect(journal.open.get('new')).toMatchObject({ changes: 1 })
  })

  test('an open question whose answer has come stays, although this round did not come to it', async () => {
    const { asks, journal } = begin(askedBefore(about('Name?'), 1, 'old'), { responses: { old: accept('ann') } })
    await expect(asks.ask('new', about('Other?'))).rejects.toThrow()
    asks.endRound()
    expect([...journal.open.keys()].toSorted()).toEqual(['new', 'old'])
  })
})

test('a question that the client cannot be asked fails before it is asked', async () => {
  const assertAskable = (): never => {
    throw new Error('The client has no forms.')
  }
  const { asks, journal } = begin(newJournal('call'), { assertAskable })
  await expect(asks.ask('a', about('Name?'))).rejects.toThrow('The client has no forms.')
  expect([asks.waiting.size, journal.open.size]).toEqual([0, 0])
})

describe('a question that is asked in place', () => {
  test('is asked as often as it may be, each time written down before it is sent', async () => {
    const sent: unknown[] = []
    const journal = newJournal('call')
    const question = about('Name?', { again: (issues) => elicit(issues) })
    const { asks, refused } = begin(journal, {
      push: async (key, { params }) => {
        sent.push([(params as { message: string }).message, journal.open.get(key)])
        return accept(3)
      },
    })
    await expect(asks.ask('a', question)).rejects.toMatchObject({ code: 'ASK_EXHAUSTED' })
    expect(sent).toEqual([
      ['Name?', { question: 'Name?', times: 1, changes: 0 }],
      ['It is no text.', { question: 'Name?', times: 2, changes: 0 }],
      ['It is no text.', { question: 'Name?', times: 3, changes: 0 }],
    ])
    expect(refused).toEqual(['a', 'a', 'a'])
  })

  test('goes on counting where an earlier round ended', async () => {
    let pushes = 0
    const push = async (): Promise<unknown> => accept(++pushes)
    const refused = { push, responses: { a: accept(0) } }
    await expect(begin(askedBefore(about('Name?'), 2), refused).asks.ask('a', about('Name?'))).rejects.toThrow()
    expect(pushes).toBe(1)
  })

  test('counts once, however often it was handed off unanswered', async () => {
    const { asks } = begin(askedBefore(about('Name?'), 3), { push: async () => accept('ann') })
    expect(await asks.ask('a', about('Name?'))).toBe('ann')
  })

  test('is not asked again when the handler has returned meanwhile', async () => {
    let pushes = 0
    const { asks, lifecycle } = begin(newJournal('call'), {
      push: async () => {
        lifecycle.close()
        return accept(++pushes)
      },
    })
    await expect(asks.ask('a', about('Name?'))).rejects.toThrow('only while it handles a request')
    expect(pushes).toBe(1)
  })

  test('counts the answer as progress', async () => {
    const { asks } = begin(newJournal('call'), { push: async () => accept('ann') })
    expect([await asks.ask('a', about('Name?')), asks.gained]).toEqual(['ann', 1])
  })
})

describe('a question that names who may answer', () => {
  const question = about('Sure?', { approvers: managers })
  const asManager = { approver: () => ann }
  const asOther = { approver: () => undefined }
  const answered = (by?: AnsweredBy): Journal => {
    const journal = newJournal('call')
    journal.answers.set('a', { question: 'Sure?', response: accept('yes'), ...(by !== undefined && { by }) })
    return journal
  }

  test('fails where callers are not known', async () => {
    await expect(begin().asks.ask('a', question)).rejects.toMatchObject({ code: 'APPROVER_UNKNOWN' })
  })

  test('is for a caller who is one of them, whose name is kept with the answer', async () => {
    const { asks, journal } = begin(askedBefore(question), { ...asManager, responses: { a: accept('yes') } })
    expect(await asks.ask('a', question)).toBe('yes')
    expect(journal.answers.get('a')).toEqual({ question: 'Sure?', response: accept('yes'), by: ann })
    const asked = begin(newJournal('call'), asManager)
    await expect(asked.asks.ask('a', question)).rejects.toThrow('This round has ended')
    expect(asked.journal.open.get('a')).toMatchObject({ approvers: managers })
  })

  test('takes an answer of another, who was checked, whoever the caller is; the name stays', async () => {
    for (const options of [asManager, asOther]) {
      const { asks, journal } = begin(answered({ id: 'mia', subject: 'mia', claims: {} }), options)
      expect(await asks.ask('a', question)).toBe('yes')
      expect(journal.answers.get('a')?.by?.id).toBe('mia')
    }
  })

  test('takes no answer of a caller who is none of them, and makes the call a task before it fails', async () => {
    const log: string[] = []
    const detach = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      log.push('detached')
    }
    const { asks, journal, askable } = begin(answered(), asOther, detach)
    await asks.ask('a', question).catch((error: unknown) => log.push((error as JournalError).code))
    expect([log, journal.answers.has('a'), askable]).toEqual([['detached', 'APPROVER_ELSEWHERE'], false, []])
  })

  test('takes the answer of a caller who is one of them, although nobody wrote down the name', async () => {
    expect(await begin(answered(), asManager).asks.ask('a', question)).toBe('yes')
  })

  test('waits for them in a task, whoever the caller is', async () => {
    const { asks, sent } = begin(newJournal('call'), { ...asOther, asksOthers: true })
    await expect(asks.ask('a', question)).rejects.toThrow('This round has ended')
    expect(sent()).toEqual(['Sure?'])
  })

  test('takes no answer in place of somebody who was one of them when asked and is not any more', async () => {
    let isManager = true
    const { asks, journal } = begin(newJournal('call'), {
      approver: () => (isManager ? ann : undefined),
      push: async () => {
        isManager = false
        return accept('yes')
      },
    })
    await expect(asks.ask('a', question)).rejects.toMatchObject({ code: 'APPROVER_ELSEWHERE' })
    expect(journal.answers.has('a')).toBe(false)
    const still = begin(newJournal('call'), { ...asManager, push: async () => accept('yes') })
    expect(await still.asks.ask('a', question)).toBe('yes')
    expect(still.journal.answers.get('a')?.by?.id).toBe('ann')
  })

  test('and one that does not are answered by the caller as before', async () => {
    const { asks, journal } = begin(answered(), asOther)
    expect(await asks.ask('a', about('Sure?'))).toBe('yes')
    expect(journal.answers.get('a')).toEqual({ question: 'Sure?', response: accept('yes') })
  })
})
