import type { ClientCapabilities, InputRequest } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { answersInShape, capabilityNames, declares, declaresAll, neededCapability } from './inputRequests.ts'

const form = {
  method: 'elicitation/create',
  params: { message: 'm', requestedSchema: { type: 'object', properties: {} } },
} as InputRequest
const page = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'm', url: 'https://example.com' },
} as InputRequest
const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } } as InputRequest
const withTools = {
  method: 'sampling/createMessage',
  params: { messages: [], maxTokens: 1, tools: [] },
} as InputRequest
const roots = { method: 'roots/list' } as InputRequest

describe('what a client must have declared', () => {
  test.each([
    ['a form', form, { elicitation: {} }, true],
    ['a form', form, { elicitation: { form: {} } }, true],
    ['a form', form, { elicitation: { url: {} } }, false],
    ['a form', form, {}, false],
    ['a page', page, { elicitation: { url: {} } }, true],
    ['a page', page, { elicitation: {} }, false],
    ['sampling', sampling, { sampling: {} }, true],
    ['sampling', sampling, { elicitation: {} }, false],
    ['sampling with tools', withTools, { sampling: {} }, false],
    ['sampling with tools', withTools, { sampling: { tools: {} } }, true],
    ['roots', roots, { roots: {} }, true],
    ['roots', roots, { roots: true }, false],
  ])('%s with %o, given %j: %s', (_, request, declared, expected) => {
    expect(declaresAll(declared as ClientCapabilities, neededCapability(request))).toBe(expected)
  })

  test.each([
    [form, 'elicitation.form'],
    [page, 'elicitation.url'],
    [sampling, 'sampling'],
    [withTools, 'sampling.tools'],
    [roots, 'roots'],
  ])('has a name for sentences: %o', (request, name) => {
    expect(capabilityNames(neededCapability(request))).toBe(name)
  })

  test.each([
    ['sampling', { sampling: {} }, true],
    ['extensions.dev.example/x', { extensions: { 'dev.example/x': {} } }, true],
    ['extensions.dev.example/y', { extensions: { 'dev.example/x': {} } }, false],
    ['constructor', {}, false],
    ['__proto__', {}, false],
  ])('can(%j)', (capability, declared, expected) => {
    expect(declares(declared, capability)).toBe(expected)
  })
})

describe('the shape of an answer', () => {
  test.each([
    [form, { action: 'accept', content: {} }, true],
    [form, { action: 'accept' }, false],
    [form, { action: 'decline' }, true],
    [form, { action: 'cancel' }, true],
    [form, { action: 'later' }, false],
    [form, 'accept', false],
    [page, { action: 'accept' }, true],
    [sampling, { role: 'assistant', model: 'm', content: { type: 'text', text: 't' } }, true],
    [sampling, { role: 'assistant', model: 'm', content: [{ type: 'text', text: 't' }] }, true],
    [sampling, { role: 'assistant', content: { type: 'text' } }, false],
    [sampling, { role: 'assistant', model: 'm', content: 'text' }, false],
    [roots, { roots: [{ uri: 'file:///a' }] }, true],
    [roots, { roots: [{}] }, false],
    [roots, {}, false],
  ])('%j answered by %j: %s', (request, value, expected) => {
    expect(answersInShape(request, value)).toBe(expected)
  })
})
