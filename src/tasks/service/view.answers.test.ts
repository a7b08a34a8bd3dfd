import type { InputRequest } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { sortAnswers } from './view.ts'

const form = (properties: object, required: readonly string[] = []): InputRequest =>
  ({
    method: 'elicitation/create',
    params: { message: 'x', requestedSchema: { type: 'object', properties, required } },
  }) as unknown as InputRequest

const bare = { method: 'elicitation/create', params: { message: 'x' } } as unknown as InputRequest

const sampling = {
  method: 'sampling/createMessage',
  params: { messages: [], maxTokens: 1 },
} as unknown as InputRequest

const accept = (content: unknown): object => ({ action: 'accept', content })

describe('an answer', () => {
  test.each<[string, InputRequest, unknown, boolean]>([
    ['with what is required', form({ a: { type: 'string' } }, ['a']), accept({ a: 'x' }), true],
    ['without what is required', form({ a: { type: 'string' } }, ['a']), accept({ b: 'x' }), false],
    ['without what may be left out', form({ a: { type: 'string' } }), accept({}), true],
    ['with more than was asked', form({ a: { type: 'string' } }), accept({ z: 1 }), true],
    ['of another type', form({ a: { type: 'string' } }), accept({ a: 5 }), false],
    ['that is no choice', form({ a: { type: 'string', enum: ['x', 'y'] } }), accept({ a: 'z' }), false],
    ['that is a choice', form({ a: { type: 'string', enum: ['x', 'y'] } }), accept({ a: 'y' }), true],
    ['with a broken integer', form({ a: { type: 'integer' } }), accept({ a: 1.5 }), false],
    ['with a number', form({ a: { type: 'number' } }), accept({ a: 1.5 }), true],
    ['with a list', form({ a: { type: 'array' } }), accept({ a: ['x'] }), true],
    ['with a text for a list', form({ a: { type: 'array' } }), accept({ a: 'x' }), false],
    ['with a text for yes or no', form({ a: { type: 'boolean' } }), accept({ a: 'yes' }), false],
    ['that inherits what is required', form({ toString: { type: 'string' } }, ['toString']), accept({}), false],
    ['that declines', form({ a: { type: 'string' } }, ['a']), { action: 'decline' }, true],
    ['that cancels', form({ a: { type: 'string' } }, ['a']), { action: 'cancel' }, true],
    ['with an action of its own', form({}), { action: 'maybe' }, false],
    ['to a form without fields', bare, accept({}), true],
    ['without content', form({}), { action: 'accept' }, false],
    ['that is null', form({}), null, false],
    ['of a model', sampling, { role: 'assistant', model: 'm', content: { type: 'text', text: 'x' } }, true],
    ['of a model without content', sampling, { role: 'assistant', model: 'm' }, false],
  ])('%s', (_, request, response, fits) => {
    const { accepted, refused } = sortAnswers(new Map([['key', request]]), { key: response })
    expect([accepted.has('key'), refused.has('key')]).toEqual([fits, !fits])
  })

  test('to nothing is neither taken nor refused, and what was not answered stays open', () => {
    const { accepted, refused } = sortAnswers(new Map([['asked', form({})]]), { other: accept({}) })
    expect([accepted.size, refused.size]).toEqual([0, 0])
  })

  test('may have any key', () => {
    const responses = JSON.parse('{"__proto__": {"action": "accept", "content": {}}}') as Record<string, unknown>
    expect([...sortAnswers(new Map([['__proto__', form({})]]), responses).accepted.keys()]).toEqual(['__proto__'])
    expect(sortAnswers(new Map([['__proto__', form({})]]), {}).accepted.size).toBe(0)
  })
})
