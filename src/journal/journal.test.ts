import { describe, expect, test } from 'vitest'
import { assertKey, isBlank, type Journal, newJournal, nextRound, readJournal, writeJournal } from './journal.ts'

const response = { action: 'accept', content: {} }

/** A journal with something of each kind. */
function full(): Journal {
  const journal = newJournal('call')
  journal.answers.set('a', { question: 'A?', response })
  journal.answers.set('b', { question: undefined, response, by: { id: 'ann', subject: 'ann', claims: {} } })
  journal.steps.set('s', { value: null })
  journal.steps.set('t', {})
  journal.open.set('o', { question: 'O?', times: 2 })
  journal.open.set('p', { question: undefined, times: 1, changes: 3 })
  journal.own = { mine: 1 }
  journal.begunAt = 7
  return journal
}

const body = {
  a: [
    ['a', 'A?', response],
    ['b', null, response, { id: 'ann', subject: 'ann', claims: {} }],
  ],
  s: [['s', null], ['t']],
  o: [
    ['o', 'O?', 2],
    ['p', null, 1, 3],
  ],
  x: { mine: 1 },
  b: 7,
}

describe('a journal in JSON', () => {
  test('has no more than there is: clients carry it', () => {
    expect(writeJournal(newJournal('call'))).toEqual({})
    expect(Object.keys(writeJournal(newJournal('call')))).toEqual([])
    expect(JSON.stringify(writeJournal(full()))).toBe(JSON.stringify(body))
  })

  test('is read as it was written', () => {
    const journal = readJournal('call', 3, body)
    expect([journal.id, journal.round, journal.own, journal.begunAt]).toEqual(['call', 3, { mine: 1 }, 7])
    expect(Object.fromEntries(journal.answers)).toEqual({
      a: { question: 'A?', response },
      b: { question: undefined, response, by: { id: 'ann', subject: 'ann', claims: {} } },
    })
    expect(journal.answers.get('a')).not.toHaveProperty('by')
    expect([journal.steps.get('s'), journal.steps.get('t')]).toEqual([{ value: null }, {}])
    expect(journal.steps.get('t')).not.toHaveProperty('value')
    expect(Object.fromEntries(journal.open)).toEqual({
      o: { question: 'O?', times: 2, changes: 0 },
      p: { question: undefined, times: 1, changes: 3 },
    })
  })

  test('that is empty is an empty journal', () => {
    const { answers, steps, open, own, begunAt } = readJournal('call', 1, {})
    expect([answers.size, steps.size, open.size, own, begunAt]).toEqual([0, 0, 0, undefined, undefined])
  })

  test('that nobody can read is refused', () => {
    expect(() => readJournal('call', 1, null)).toThrow(expect.objectContaining({ code: 'JOURNAL_UNREADABLE' }))
  })
})

describe('a journal need not be kept', () => {
  const blankWith = (fill: (journal: Journal) => void): boolean => {
    const journal = newJournal('call')
    fill(journal)
    return isBlank(journal)
  }

  test('when it is empty, or asks for the first time what any answer fits', () => {
    expect(blankWith(() => {})).toBe(true)
    expect(blankWith(({ open }) => void open.set('a', { question: undefined, times: 1 }))).toBe(true)
    expect(blankWith((journal) => void (journal.begunAt = 7))).toBe(true)
  })

  test.each<[string, (journal: Journal) => void]>([
    ['an answer', ({ answers }) => void answers.set('a', { question: undefined, response })],
    ['a step', ({ steps }) => void steps.set('s', {})],
    ['a state of its own', (journal) => void (journal.own = null)],
    ['a question that takes only its own answer', ({ open }) => void open.set('a', { question: 'A?', times: 1 })],
    ['a question asked again', ({ open }) => void open.set('a', { question: undefined, times: 2 })],
  ])('and must be with %s', (_, fill) => {
    expect(blankWith(fill)).toBe(false)
  })
})

test('the next round has all of the last one', () => {
  const journal = full()
  expect(nextRound(journal)).toEqual({
    id: 'call',
    round: 1,
    answers: journal.answers,
    steps: journal.steps,
    open: journal.open,
    own: { mine: 1 },
    begunAt: 7,
  })
})

test('an id is made when it is first needed, and once', () => {
  let made = 0
  const journal = newJournal(() => `call ${++made}`)
  writeJournal(journal)
  expect(made).toBe(0)
  expect([journal.id, journal.id, made]).toEqual(['call 1', 'call 1', 1])
})

test('a key is a text of 1 to 256 characters', () => {
  for (const key of ['a', 'x'.repeat(256), '__proto__']) expect(() => assertKey(key)).not.toThrow()
  for (const key of ['', 'x'.repeat(257), 5, undefined, null]) {
    expect(() => assertKey(key)).toThrow(expect.objectContaining({ code: 'KEY_INVALID' }))
  }
})
