import { expect, test } from 'vitest'
import { newJournal } from '../journal/index.ts'
import { type QuestionRow, answeredBefore, journalOf, nextWireKey } from './journalRows.ts'

const nothing = { call: 'call', round: 0, own: undefined, begunAt: undefined, steps: [], asks: [] }
const yes = { action: 'accept', content: {} }
const ask = (key: string, given: Partial<QuestionRow> = {}): QuestionRow => ({
  key,
  question: `print of ${key}`,
  times: 1,
  response: undefined,
  ...given,
})

test('a task without rows has an empty journal with the name of its call', () => {
  expect(journalOf(nothing)).toEqual({
    ...newJournal('call'),
    id: 'call',
    round: 0,
    own: undefined,
    begunAt: undefined,
    answers: new Map(),
    steps: new Map(),
    open: new Map(),
  })
})

test('an answered question is an answer, and counts as asked', () => {
  const { answers, open } = journalOf({ ...nothing, asks: [ask('a', { times: 3, response: yes })] })
  expect(answers).toEqual(new Map([['a', { question: 'print of a', response: yes }]]))
  expect(open).toEqual(new Map([['a', { question: 'print of a', times: 3, changes: 0, earlier: 0 }]]))
})

test('of several rows under one key the latest counts', () => {
  const asks = [
    ask('a', { response: yes }),
    ask('b', { response: yes }),
    ask('a', { question: 'new', times: 2, response: { action: 'decline' } }),
    ask('b', { question: undefined, times: 2 }),
  ]
  const { answers, open } = journalOf({ ...nothing, asks })
  expect(answers).toEqual(new Map([['a', { question: 'new', response: { action: 'decline' } }]]))
  expect(open.get('b')).toEqual({ question: undefined, times: 2, changes: 1, earlier: 1 })
})

test('the rows of a key tell how often its text has changed, and a text that stays has not', () => {
  const asks = ['one', 'one', 'two', 'three', 'three'].map((question, at) => ask('a', { question, times: at + 1 }))
  expect(journalOf({ ...nothing, asks }).open.get('a')).toMatchObject({ question: 'three', changes: 2 })
})

test('what was answered before the task was made keeps how often it was asked', () => {
  const journal = newJournal('call')
  journal.answers.set('a', { question: 'p', response: yes })
  journal.answers.set('b', { question: undefined, response: yes })
  journal.open.set('a', { question: 'p', times: 4 })
  journal.open.set('unanswered', { question: 'q', times: 1 })
  expect(answeredBefore(journal)).toEqual([
    { key: 'a', question: 'p', times: 4, response: yes },
    { key: 'b', question: undefined, times: 1, response: yes },
  ])
})

test.each([
  ['a', 0, [], 'a'],
  ['a', 1, ['a'], 'a~2'],
  ['a', 2, ['a', 'a~2'], 'a~3'],
  ['a', 1, ['a', 'a~2'], 'a~3'],
  ['a~2', 0, ['a', 'a~2'], 'a~2~2'],
])('the key %j, asked %i times while %j are taken, goes as %j', (key, asked, taken, wireKey) => {
  expect(nextWireKey(key, asked, (candidate) => taken.includes(candidate))).toBe(wireKey)
})
