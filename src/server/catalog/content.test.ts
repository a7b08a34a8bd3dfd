import { expect, test } from 'vitest'
import { Caller } from '../../../test/docs/fixtures/caller.ts'
import { recordedLog } from '../../../test/e2e/fixtures/recordedLog.ts'
import { createServer, structured, text } from '../index.ts'

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
