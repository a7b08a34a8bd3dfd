/** Forms on a screen that only remembers what it showed, answered by the labels of the options. */
import type { ElicitRequestFormParams } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import type { Asked } from '../questions/answerer.ts'
import { showForm } from './form.ts'
import type { LineQuestion, Option, Screen } from './screen.ts'

type Answer = string | readonly string[]

/** What was shown, and what came of it. Each answer is a label, labels, or what was typed. */
async function filled(properties: object, answers: Answer[], required: string[] = []) {
  const said: string[] = []
  const warned: string[] = []
  const asked: { message: string; options?: string[]; initial?: unknown; question?: LineQuestion }[] = []
  const chosen = <Value>(options: readonly Option<Value>[]): Value[] => {
    const labels = [answers.shift()].flat()
    return options.filter(({ label }) => labels.includes(label)).map(({ value }) => value)
  }
  const screen: Screen = {
    width: 60,
    begin() {},
    end() {},
    say: (lines) => void said.push(...lines),
    warn: (lines) => void warned.push(...lines),
    line: async (question) => {
      asked.push({ message: question.message, question })
      return String(answers.shift())
    },
    choose: async (message, options, initial) => {
      asked.push({ message, options: options.map(({ label }) => label), initial })
      return chosen(options)[0]!
    },
    chooseMany: async (message, options, initial) => {
      asked.push({ message, options: options.map(({ label }) => label), initial })
      return chosen(options)
    },
  }
  const server = { name: undefined, target: undefined }
  const one = { key: 'a', request: {}, call: undefined, server, signal: AbortSignal.abort() } as unknown as Asked
  const params = { message: 'Sure?', requestedSchema: { type: 'object', properties, required } }
  const result: Json = await showForm(screen, one, params as ElicitRequestFormParams)
  return { said, warned, asked, result }
}

const texts = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`field${n}`, { type: 'string' }]))

describe('a form', () => {
  test('lists its fields, twenty at most, and says how many more there are', async () => {
    const { said: all } = await filled(texts(20), ['Decline'])
    expect(all.filter((line) => line.startsWith('- field'))).toHaveLength(20)
    expect(all.at(-1)).toBe('- field19')
    const { said: cut, result } = await filled(texts(21), ['Decline'])
    expect(cut.filter((line) => line.startsWith('- field'))).toHaveLength(20)
    expect(cut.at(-1)).toBe('… and 1 more')
    expect(result).toEqual({ action: 'decline' })
  })

  test('without fields is accepted as it is', async () => {
    const { said, asked, result } = await filled({}, ['Accept'])
    expect(said).not.toContain('It asks for:')
    expect([asked[0]?.options?.[0], asked.length]).toEqual(['Accept', 1])
    expect(result).toEqual({ action: 'accept', content: {} })
  })

  test('is shown as it will be sent, and one answer of several can be changed', async () => {
    const answers = ['Fill in the form', 'Ann', '', 'Change an answer', 'name', 'Bob', 'Send']
    const { said, asked, result } = await filled({ name: { type: 'string' }, note: { type: 'string' } }, answers)
    expect(said).toEqual(expect.arrayContaining(['- name: "Ann"', '- note: (left empty)', '- name: "Bob"']))
    expect(asked.find(({ message }) => message === 'Which one?')?.options).toEqual(['name', 'note'])
    expect(asked.at(-2)?.question?.initial).toBe('Ann')
    expect(result).toEqual({ action: 'accept', content: { name: 'Bob' } })
  })

  test('with one field needs no choice of what to change, and may be left at its end', async () => {
    const answers = ['Fill in the form', 'Ann', 'Change an answer', 'Bob', 'Cancel']
    const { asked, result } = await filled({ name: { type: 'string' } }, answers)
    expect(asked.map(({ message }) => message)).not.toContain('Which one?')
    expect(result).toEqual({ action: 'cancel' })
  })
})

describe('a single choice is one prompt', () => {
  const ways = ['Decline', 'Cancel']

  test.each<[string, object, string[], string[], string, unknown, unknown]>([
    ['a yes or no', { type: 'boolean' }, ['it'], ['Yes', 'No'], 'No', { it: false }, { action: 'decline' }],
    [
      'one that may be left',
      { type: 'boolean' },
      [],
      ['Yes', 'No', 'Leave empty'],
      'Leave empty',
      {},
      { action: 'decline' },
    ],
    [
      'one with a default',
      { type: 'boolean', default: true },
      ['it'],
      ['Yes', 'No'],
      'Yes',
      { it: true },
      { action: 'accept', content: { it: true } },
    ],
    ['a choice', { type: 'string', enum: ['a', 'b'] }, ['it'], ['a', 'b'], 'b', { it: 'b' }, { action: 'decline' }],
    [
      'a choice with a default',
      { type: 'string', enum: ['a', 'b'], default: 'b' },
      ['it'],
      ['a', 'b'],
      'a',
      { it: 'a' },
      { action: 'accept', content: { it: 'b' } },
    ],
  ])(
    '%s, with all ways to answer, and Enter takes the default or declines',
    async (_, it, required, labels, answer, content, initial) => {
      const { asked, result } = await filled({ it }, [answer], required)
      expect(asked).toEqual([{ message: expect.stringContaining('it ('), options: [...labels, ...ways], initial }])
      expect(result).toEqual({ action: 'accept', content })
    },
  )
})

describe('a field', () => {
  test.each<[string, object, string[], string]>([
    ['text', { type: 'string' }, [], 'it (optional)'],
    ['text of some length', { type: 'string', minLength: 2, maxLength: 5 }, ['it'], 'it (2 to 5 characters, required)'],
    ['text of one character', { type: 'string', maxLength: 1 }, [], 'it (at most 1 character, optional)'],
    ['long text', { type: 'string', minLength: 3 }, [], 'it (at least 3 characters, optional)'],
    ['a number', { type: 'number', minimum: 0 }, [], 'it (number, at least 0, optional)'],
    ['a whole number', { type: 'integer', maximum: 9 }, [], 'it (whole number, at most 9, optional)'],
    [
      'a number without limits, as zod writes it',
      { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      [],
      'it (whole number, optional)',
    ],
    ['one with a title', { type: 'string', title: 'The name' }, [], 'The name [it] (optional)'],
  ])('says what it takes: %s', async (_, it, required, message) => {
    const { asked } = await filled({ it }, ['Fill in the form', '5', 'Cancel'], required)
    expect(asked[1]?.message).toBe(message)
  })

  test('with a format shows an example, and says what is wrong while it is typed', async () => {
    const { asked } = await filled({ it: { type: 'string', format: 'date' } }, [
      'Fill in the form',
      '2026-01-01',
      'Send',
    ])
    const { placeholder, problem } = asked[1]!.question!
    expect(placeholder).toMatch(/^\d{4}-\d\d-\d\d$/)
    expect([problem('2026-01-01'), problem('soon')]).toEqual([undefined, expect.stringContaining('It must be a date')])
  })

  test.each([
    ['a text of a thousand characters is edited in a line', 'x'.repeat(1000), false],
    ['a longer one is taken as it is, or typed anew', 'x'.repeat(1001), true],
    ['and so is one with several lines', 'a\nb', true],
  ])('%s', async (_, given, isShown) => {
    const it = { type: 'string', default: given }
    const kept = await filled({ it }, ['Fill in the form', ...(isShown ? ['Take the given text'] : [given]), 'Send'])
    expect(kept.result).toEqual({ action: 'accept', content: { it: given } })
    expect(kept.said.includes('Given text:')).toBe(isShown)
    if (!isShown) return
    const typed = await filled({ it }, ['Fill in the form', 'Type another', 'new', 'Send'])
    expect([typed.result, typed.asked[2]?.question?.initial]).toEqual([
      { action: 'accept', content: { it: 'new' } },
      '',
    ])
  })

  test('with several choices is asked again until they fit, and may be left empty where it is optional', async () => {
    const it = { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] }, minItems: 2, default: ['a', 'c'] }
    const { asked, warned, result } = await filled({ it }, ['Fill in the form', ['c'], ['a', 'b'], 'Send'])
    expect(asked.slice(1, 3).map(({ message, initial }) => [message, initial])).toEqual([
      ['it (at least 2 choices, optional)', ['a', 'c']],
      ['it (at least 2 choices, optional)', ['c']],
    ])
    expect([warned.length, result]).toEqual([1, { action: 'accept', content: { it: ['a', 'b'] } }])
    const left = await filled({ it }, ['Fill in the form', [], 'Send'])
    expect(left.result).toEqual({ action: 'accept', content: {} })
  })

  test('is a yes or no among others, where Enter never says yes without a default', async () => {
    const fields = { it: { type: 'boolean' }, name: { type: 'string' } }
    const optional = await filled(fields, ['Fill in the form', 'Yes', 'x', 'Send'])
    expect(optional.asked[1]).toMatchObject({ options: ['Yes', 'No', 'Leave empty'], initial: undefined })
    const required = await filled(fields, ['Fill in the form', 'Yes', 'x', 'Send'], ['it'])
    expect(required.asked[1]).toMatchObject({ options: ['Yes', 'No'], initial: false })
    expect(required.result).toEqual({ action: 'accept', content: { it: true, name: 'x' } })
  })

  test('of a choice shows the title, and the value where that differs', async () => {
    const choices = [
      { const: 'r', title: 'Red' },
      { const: '', title: '' },
    ]
    const { asked } = await filled({ it: { type: 'string', oneOf: choices } }, ['Red'], ['it'])
    expect(asked[0]?.options?.slice(0, 2)).toEqual(['Red', '(empty)'])
  })
})
