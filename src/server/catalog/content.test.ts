import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { Caller, type Reply } from '../../../test/docs/fixtures/caller.ts'
import { recordedLog } from '../../../test/e2e/fixtures/recordedLog.ts'
import { createServer, type Server, structured, text } from '../index.ts'

async function resultOf(content: unknown[]) {
  const { logger, lines } = recordedLog()
  const server = createServer({ name: 'contents', version: '1.0.0', logger, exposeErrors: false })
  server.tool('show', { description: 'Shows.' }, () => ({ content }) as never)
  const { result } = await new Caller(server.fetch).round('show')
  return { result, codes: lines.flatMap(({ fields }) => ('err' in fields ? [fields.err] : [])) }
}

const fine = text('fine').content[0]

test('every type of content is sent as it is', async () => {
  const content = [
    fine,
    { type: 'text', text: '', annotations: { priority: 1 } },
    { type: 'image', data: 'AA==', mimeType: 'image/png' },
    { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'a://b', text: 'b' } },
    { type: 'resource', resource: { uri: 'a://b', blob: 'AA==' } },
    { type: 'resource_link', uri: 'a://b', name: 'b' },
  ]
  expect((await resultOf(content)).result).toMatchObject({ content })
  expect((await resultOf([])).result).toMatchObject({ content: [] })
})

test.each<[unknown, string]>([
  [{ type: 'txt', text: 'x' }, 'has the type "txt"; use text, image, audio, resource or resource_link'],
  [{ type: 'toString', text: 'x' }, 'has the type "toString"; use text,'],
  [{ text: 'x' }, 'has no type; use text,'],
  ['x', 'has no type; use text,'],
  [null, 'has no type; use text,'],
  [{ type: 'text' }, 'of type text needs "text", a string'],
  [{ type: 'text', text: 7 }, 'of type text needs "text", a string'],
  [{ type: 'image', data: 'AA==' }, 'of type image needs "mimeType", a string'],
  [{ type: 'audio', data: new Uint8Array(1), mimeType: 'audio/wav' }, 'of type audio needs "data", a string'],
  [{ type: 'resource', uri: 'a://b' }, 'of type resource needs "resource" with a "uri" and a "text" or "blob"'],
  [{ type: 'resource', resource: { uri: 'a://b' } }, 'of type resource needs "resource" with a "uri"'],
  [{ type: 'resource_link', uri: 'a://b' }, 'of type resource_link needs "name", a string'],
])('the tool fails with a sentence for %j', async (item, sentence) => {
  const { result, codes } = await resultOf([fine, item])
  expect(result.isError).toBe(true)
  expect(result.content?.[0]?.text).toContain(
    `The content that the tool "show" returned is not valid: item 2 ${sentence}`,
  )
  expect(codes).toMatchObject([{ code: 'TOOL_OUTPUT_INVALID' }])
})

test.each([
  ['nothing', () => undefined, 'must return a string or a result with "content"'],
  ['no structured content', () => 'text', 'must return structured content'],
  ['structured content that does not fit', () => structured({ sum: 'secret' }), 'its output schema does not allow'],
])('a model reads that a tool with an output schema returned %s', async (_, handler, sentence) => {
  const server = createServer({ name: 'contents', version: '1.0.0', exposeErrors: false })
  const output = { type: 'object', properties: { sum: { type: 'number' } } }
  server.tool('sum', { description: 'Sums.', output }, handler as never)
  const { result } = await new Caller(server.fetch).round('sum')
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(sentence) }] })
  expect(JSON.stringify(result)).not.toContain('secret')
})

test('an author reads which field of structured content does not fit, unless errors are not exposed', async () => {
  const output = z.object({ sum: z.object({ cents: z.number() }) })
  for (const exposeErrors of [true, false]) {
    const server = createServer({ name: 'contents', version: '1.0.0', exposeErrors })
    server.tool('sum', { description: 'Sums.', output }, () => structured({ sum: { cents: 'secret' } }) as never)
    const text = JSON.stringify((await new Caller(server.fetch).round('sum')).result)
    expect(text.includes('sum.cents')).toBe(exposeErrors)
    expect(text).not.toContain('secret')
  }
})

const NO_MESSAGE = 'needs "role", which is "user" or "assistant".'
const NO_CONTENTS = 'needs a "uri" and a "text" or "blob", all strings.'

describe.each(['of the stateless era', 'of the session era'])('in a request %s', (era) => {
  /** The reply to a request for a prompt or a resource whose handler returns this. */
  async function replyTo(method: 'prompts/get' | 'resources/read', value: unknown) {
    const { logger, lines } = recordedLog()
    const server = createServer({ name: 'contents', version: '1.0.0', logger })
    server.prompt('hint', { description: 'Hints.' }, () => value as never)
    server.resource('a://b', { name: 'b' }, () => value as never)
    const params = method === 'prompts/get' ? { name: 'hint' } : { uri: 'a://b' }
    const reply =
      era === 'of the session era'
        ? await sendBare(server, method, params)
        : await new Caller(server.fetch).send(method, params)
    return { ...reply, codes: lines.flatMap(({ fields }) => ('err' in fields ? [fields.err] : [])) }
  }

  async function sendBare(server: Server, method: string, params: object) {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await server.fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body }))
    return (await response.json()) as Pick<Reply, 'result' | 'error'>
  }

  test('messages and contents of every kind are sent as they are', async () => {
    const messages = [
      { role: 'user', content: { type: 'text', text: 'x' } },
      { role: 'assistant', content: { type: 'resource', resource: { uri: 'a://b', text: 'b' } } },
    ]
    const contents = [
      { uri: 'a://b', text: '', mimeType: 'text/plain' },
      { uri: 'a://c', blob: 'AA==' },
    ]
    expect((await replyTo('prompts/get', { messages, description: 'd' })).result).toMatchObject({ messages })
    expect((await replyTo('resources/read', { contents })).result).toMatchObject({ contents })
  })

  test.each<[unknown, string]>([
    [undefined, 'return a string, or a result with "messages", a list.'],
    [{ messages: 'x' }, 'return a string, or a result with "messages", a list.'],
    [{ messages: ['x'] }, `message 1 ${NO_MESSAGE}`],
    [{ messages: [{ role: 'system', content: { type: 'text', text: 'x' } }] }, `message 1 ${NO_MESSAGE}`],
    [{ messages: [{ role: 'user', content: 'x' }] }, 'message 1 needs "content", one item of content.'],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] },
      'message 1 needs "content", one item of content.',
    ],
    [
      { messages: [{ role: 'user', content: { type: 'text' } }] },
      'message 1 is wrong: its content of type text needs "text", a string.',
    ],
  ])('a prompt that returns %j fails', async (value, issue) => {
    const { error, codes } = await replyTo('prompts/get', value)
    expect(error).toEqual({ code: -32603, message: `What the prompt "hint" returned is not valid: ${issue}` })
    expect(codes).toMatchObject([{ code: 'PROMPT_OUTPUT_INVALID' }])
  })

  test.each<[unknown, string]>([
    [undefined, 'return a string, bytes, or a result with "contents", a list.'],
    [{ contents: {} }, 'return a string, bytes, or a result with "contents", a list.'],
    [{ contents: ['x'] }, `item 1 ${NO_CONTENTS}`],
    [{ contents: [{ uri: 'a://b', text: 'b' }, { text: 'x' }] }, `item 2 ${NO_CONTENTS}`],
    [{ contents: [{ uri: 'a://b', text: { a: 1 } }] }, `item 1 ${NO_CONTENTS}`],
  ])('a resource that returns %j fails', async (value, issue) => {
    const { error, codes } = await replyTo('resources/read', value)
    expect(error).toEqual({ code: -32603, message: `What the resource "a://b" returned is not valid: ${issue}` })
    expect(codes).toMatchObject([{ code: 'RESOURCE_OUTPUT_INVALID' }])
  })
})
