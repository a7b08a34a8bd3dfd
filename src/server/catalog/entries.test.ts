/** What is wrong with a tool, prompt, resource or completion is said when it is added, with its name and the field. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createServer } from '../createServer.ts'
import { failure, structured } from './content.ts'

const make = () => createServer({ name: 'entries', version: '1.0.0' })
const description = 'Does something.'
const nothing = (): string => ''

describe('unknown options are refused, with the nearest that exists', () => {
  const server = make()
  test.each([
    [
      'a tool',
      () => server.tool('add', { description, inputSchema: z.object({}) } as never, nothing),
      'The tool "add" has no option "inputSchema"; did you mean "input"?',
    ],
    ['a tool', () => server.tool('add', { description, outputSchema: {} } as never, nothing), 'did you mean "output"?'],
    ['a tool', () => server.tool('add', { descripton: '…' } as never, nothing), 'did you mean "description"?'],
    [
      'a tool',
      () => server.tool('add', { description, colour: 'red' } as never, nothing),
      'no option "colour". It has: title, description,',
    ],
    [
      'a tool without options',
      () => server.tool('add', undefined as never, nothing),
      'The tool "add" needs an object of options',
    ],
    [
      'a prompt',
      () => server.prompt('greet', { description, arguments: [] } as never, nothing),
      'The prompt "greet" has no option "arguments"',
    ],
    [
      'a resource',
      () => server.resource('a://b', { name: 'b', mimetype: 'x' } as never, nothing),
      'did you mean "mimeType"?',
    ],
    [
      'a template',
      () => server.resourceTemplate('a://{b}', { name: 'b', ttl: 1 } as never, nothing),
      'did you mean "title"',
    ],
    [
      'a server',
      () => createServer({ name: 'x', version: '1', key: 'k' } as never),
      'createServer has no option "key"; did you mean "keys"?',
    ],
    [
      'a handler',
      () => server.nodeHandler({ allowedHost: [] } as never),
      'nodeHandler has no option "allowedHost"; did you mean "allowedHosts"?',
    ],
    ['a handler', () => server.fetchHandler({ port: 1 } as never), 'fetchHandler has no option "port"'],
  ])('of %s', (_, add, sentence) => {
    expect(add).toThrow(sentence)
  })

  test('of listen and stdio', async () => {
    await expect(server.listen({ prt: 3000 } as never)).rejects.toThrow(
      'listen has no option "prt"; did you mean "port"?',
    )
    await expect(server.stdio({ maxBytes: 1 } as never)).rejects.toThrow('stdio has no option "maxBytes"')
  })
})

describe('what could never work is refused when it is added', () => {
  const server = make()
  server.prompt('letter', { description, input: z.object({ to: z.string() }) }, nothing)
  server.resourceTemplate('docs://{name}', { name: 'docs' }, nothing)
  test.each([
    [
      'a tool without a handler',
      () => server.tool('add', { description }, undefined as never),
      'The tool "add" needs a handler',
    ],
    [
      'a prompt without a handler',
      () => server.prompt('hi', { description }, 'Hello' as never),
      'The prompt "hi" needs a handler',
    ],
    [
      'a resource without a handler',
      () => server.resource('a://b', { name: 'b' }, undefined as never),
      'The resource "a://b" needs a handler',
    ],
    [
      'a completion without a handler',
      () => server.completion({ prompt: 'letter', argument: 'to' }, undefined as never),
      'The completion needs a handler',
    ],
    [
      'a prompt with an argument that is no string',
      () => server.prompt('count', { description, input: z.object({ of: z.string(), upTo: z.number() }) }, nothing),
      'The prompt "count" has an argument "upTo" that no string fits.',
    ],
    [
      'the same in plain JSON Schema',
      () =>
        server.prompt(
          'count',
          { description, input: { type: 'object', properties: { upTo: { type: 'integer' } } } },
          nothing,
        ),
      'an argument "upTo" that no string fits',
    ],
    [
      'a completion for no prompt',
      () => server.completion({ prompt: 'lettre', argument: 'to' }, () => []),
      'There is no prompt "lettre" to complete; add the prompt first.',
    ],
    [
      'a completion for no argument',
      () => server.completion({ prompt: 'letter', argument: 'too' }, () => []),
      'The prompt "letter" has no argument "too" to complete. It has: to.',
    ],
    [
      'a completion for no template',
      () => server.completion({ template: 'docs://{nam}', variable: 'nam' }, () => []),
      'There is no resource template "docs://{nam}"',
    ],
    [
      'a completion for no variable',
      () => server.completion({ template: 'docs://{name}', variable: 'nam' }, () => []),
      'has no variable "nam". It has: name.',
    ],
    [
      'a field that JSON cannot describe',
      () => server.tool('when', { description, input: z.object({ a: z.string(), day: z.date() }) }, nothing),
      'The input of tool "when" has a field "day" that cannot be described as JSON Schema: Date',
    ],
    ...['string', null, 7, true, [], z.object].map((input): [string, () => unknown, string] => [
      `an input that is no schema: ${String(JSON.stringify(input))}`,
      () => server.tool('when', { description, input: input as never }, nothing),
      'The input of tool "when" must be a schema of zod, valibot,',
    ]),
    [
      'an output that is no schema',
      () => server.tool('when', { description, output: null as never }, nothing as never),
      'The output of tool "when" must be a schema',
    ],
    [
      'a prompt whose input is no schema',
      () => server.prompt('hi', { description, input: 'string' as never }, nothing),
      'The input of prompt "hi" must be a schema',
    ],
    [
      'an output that JSON cannot describe',
      () => server.tool('when', { description, output: z.object({ big: z.bigint() }) }, () => failure('')),
      'The output of tool "when" has a field "big"',
    ],
  ])('%s', (_, add, sentence) => {
    expect(add).toThrow(sentence)
  })

  test('arguments of prompts that convert strings are taken', () => {
    const input = z.object({
      count: z.coerce.number(),
      on: z.coerce.boolean(),
      when: z.preprocess((value) => Number(value), z.number()),
      either: z.union([z.string(), z.number()]),
      size: z.enum(['S', 'M']).optional(),
    })
    expect(() => server.prompt('convert', { description, input }, nothing)).not.toThrow()
  })
})

test('a tool with an output schema returns what fits it, by its type as well', () => {
  const server = make()
  const output = z.object({ sum: z.number() })
  server.tool('sum', { description, output }, () => structured({ sum: 3 }))
  server.tool('fails', { description, output }, () => failure('No.'))
  server.tool('by_hand', { description, output }, () => ({ content: [], structuredContent: { sum: 3 } }))
  // @ts-expect-error -- a text is no structured content
  server.tool('text', { description, output }, () => 'three')
  // @ts-expect-error -- the sum is a number
  server.tool('wrong', { description, output }, () => structured({ sum: '3' }))
  server.tool('free', { description }, () => structured({ anything: 1 }))
  expect(server.remove('tools', 'wrong')).toBe(true)
})
