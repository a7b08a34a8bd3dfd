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
    const events = (await read('text/event-stream', [...chunks, '\n'])).split('\n\n').filter((text) => text !== '')
    expect(events).toEqual(Array.from({ length: 20 }, () => `data: ${half}`))
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

const deep = (head: string): string => `{"jsonrpc":"2.0",${head}${'['.repeat(200)}${']'.repeat(200)}}`

describe('a message that nests too deep', () => {
  const readWhole = async (type: string, body: string): Promise<string> => {
    const answer = new Response(body, { headers: { 'content-type': type } })
    return (await boundedFetch(async () => answer)('https://a.example/mcp')).text()
  }
  const refusal = {
    id: 7,
    error: { message: 'The message nests deeper than 128 levels.', data: { code: 'MESSAGE_UNREADABLE' } },
  }

  test.each([
    ['the result first', '"result":', ',"id":7'],
    ['the id first', '"id":7,"result":', ''],
  ])('cannot be read alone, and is an error in the place of a response on a stream: %s', async (_, head, end) => {
    const text = `${deep(head).slice(0, -1)}${end}}`
    await expect(readWhole('application/json', text)).rejects.toMatchObject({ code: 'MESSAGE_UNREADABLE', id: 7 })
    const event = await readWhole('text/event-stream', `data: ${text}\n\n`)
    expect(JSON.parse(event.replace('data: ', ''))).toMatchObject(refusal)
  })

  test('is not there for its reader where it is no response', async () => {
    expect(await readWhole('text/event-stream', `data: ${deep('"id":1,"method":"ping","params":')}\n\n`)).toBe(
      'data: \n\n',
    )
  })
})
