import { describe, expect, test } from 'vitest'
import { boundedFetch } from './boundedFetch.ts'

const MAX = 100

/** Reads an answer of these chunks. */
async function read(type: string, chunks: readonly string[], headers: Record<string, string> = {}): Promise<string> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })
  const answer = new Response(body, { status: 203, headers: { 'content-type': type, ...headers } })
  const response = await boundedFetch(async () => answer, MAX)('https://a.example/mcp')
  expect(response.status).toBe(203)
  return response.text()
}

const half = 'x'.repeat(MAX / 2)

describe('a body', () => {
  test('that is as large as may be is read', async () => {
    expect(await read('application/json', [half, half])).toBe(half + half)
  })

  test.each([
    ['without a length', {}],
    ['with a length that is another when it is unfolded', { 'content-length': '7', 'content-encoding': 'gzip' }],
    ['with a length that is too large', { 'content-length': String(MAX + 1) }],
  ])('that is larger is an error: %s', async (_, headers) => {
    await expect(read('application/json', [half, half, 'x'], headers)).rejects.toMatchObject({
      code: 'MESSAGE_UNREADABLE',
    })
  })

  test('that says its length is not touched', async () => {
    const answer = new Response('{}', { headers: { 'content-length': '2' } })
    expect(await boundedFetch(async () => answer, MAX)('https://a.example/mcp')).toBe(answer)
  })
})

describe('a stream of events', () => {
  test.each([
    ['\n\n', [`data: ${half}\n\n`]],
    ['\r\n\r\n', [`data: ${half}\r\n\r\n`]],
    ['\r\r', [`data: ${half}\r\r`]],
    ['two chunks', [`data: ${half}\n`, '\n']],
    ['two chunks, in the manner of Windows', [`data: ${half}\r\n`, '\r\n']],
    ['a chunk with the next event', [`\ndata: ${half}\n`]],
  ])('may have any number of events: %j', async (_, event) => {
    const chunks = Array.from({ length: 20 }, () => event).flat()
    expect(await read('text/event-stream', chunks)).toBe(chunks.join(''))
  })

  test.each([
    ['no line end', [half, half, half]],
    ['many lines', Array<string>(20).fill(`data: ${'x'.repeat(10)}\n`)],
    ['many lines in the manner of Windows, cut at each end', Array(20).fill(['data: xxxxxxxxxx\r', '\n']).flat()],
  ])('has no event that is larger: %s', async (_, chunks) => {
    await expect(read('text/event-stream', ['data: 1\n\n', ...chunks])).rejects.toMatchObject({
      code: 'MESSAGE_UNREADABLE',
    })
  })
})
