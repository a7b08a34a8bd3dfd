import type { InputRequest } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { answersFrom, readGivenAnswers } from './taskAnswer.ts'

const form = (properties: object): InputRequest => ({
  method: 'elicitation/create',
  params: { message: 'Please', requestedSchema: { type: 'object', properties: properties as never } },
})
const paint = form({
  colour: { type: 'string', enum: ['red', 'blue'] },
  coats: { type: 'integer' },
  gloss: { type: 'boolean' },
})
const tags = form({ tags: { type: 'array', items: { type: 'string' } } })
const { signal } = new AbortController()

describe('pairs', () => {
  test.each<[string, Record<string, InputRequest>, string[], object]>([
    [
      'fill in the one form there is',
      { paint },
      ['colour=red', 'coats=2', 'gloss=true'],
      { paint: { colour: 'red', coats: 2, gloss: true } },
    ],
    [
      'name their question',
      { paint, tags },
      ['paint.coats=2', 'tags.tags=a', 'tags.tags=b'],
      { paint: { coats: 2 }, tags: { tags: ['a', 'b'] } },
    ],
    ['name it also where there is one', { paint }, ['paint.colour=blue'], { paint: { colour: 'blue' } }],
    [
      'take the longest name',
      { a: paint, 'a.b': paint },
      ['a.b.coats=1', 'a.coats=2'],
      { 'a.b': { coats: 1 }, a: { coats: 2 } },
    ],
    [
      'accept, decline and cancel',
      { paint, tags },
      ['paint=decline', 'tags=cancel'],
      { paint: 'decline', tags: 'cancel' },
    ],
    ['may hold an equals sign', { note: form({ text: { type: 'string' } }) }, ['text=a=b'], { note: { text: 'a=b' } }],
    [
      'may have a field of the name of the question',
      { sure: form({ sure: { type: 'boolean' } }) },
      ['sure=true'],
      { sure: { sure: true } },
    ],
  ])('%s', (_, questions, pairs, answers) => {
    expect(answersFrom(pairs, questions)).toEqual(answers)
  })

  test.each<[string, Record<string, InputRequest>, string[], string]>([
    ['have a name', { paint }, ['red'], '--answer takes name=value.'],
    ['name a field there is', { paint }, ['size=3'], 'The form has no field "size"; it has colour, coats, gloss.'],
    ['fit their field', { paint }, ['coats=two'], '--answer coats: the form wants integer here.'],
    [
      'name their question where there are several',
      { paint, tags },
      ['coats=2'],
      '--answer coats: The task asks paint, tags; write QUESTION.FIELD=VALUE.',
    ],
    ['answer something', {}, ['coats=2'], '--answer coats: The task asks nothing now.'],
  ])('must %s', (_, questions, pairs, message) => {
    expect(() => answersFrom(pairs, questions)).toThrow(message)
  })
})

describe('JSON', () => {
  test('has answers by their keys, and pairs come on top', async () => {
    const json = '{ "paint": { "coats": 1 }, "tags": "decline" }'
    const given = await readGivenAnswers({ json, answer: ['paint.coats=2'] }, { paint, tags }, signal)
    expect(given).toEqual({ paint: { coats: 2 }, tags: 'decline' })
  })

  test.each(['[]', '7', 'nonsense', '{ "paint": 7 }', '{ "paint": "perhaps" }'])('%s is none', async (json) => {
    await expect(readGivenAnswers({ json }, { paint }, signal)).rejects.toThrow('--json')
  })
})
