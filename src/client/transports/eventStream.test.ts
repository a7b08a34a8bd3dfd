import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { isEventStream, isJson, mapEvents, endingQuietly } from './eventStream.ts'

const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'mcp-session-id': 's' }

function streaming(text: string, cuts: readonly number[] = []): Response {
  const bytes = new TextEncoder().encode(text)
  const at = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)
  const body = new ReadableStream({
    start(controller) {
      at.forEach((end, index) => controller.enqueue(bytes.slice(at[index - 1] ?? 0, end)))
      controller.close()
    },
  })
  return new Response(body, { headers })
}

async function read(response: Response) {
  const events: object[] = []
  const notes: unknown[] = []
  const parser = createParser({
    onEvent: (event) => void events.push(event),
    onRetry: (ms) => void notes.push(ms),
    onComment: (comment) => void notes.push(comment),
  })
  parser.feed(await response.text())
  return { events, notes }
}

const TEXT =
  'id: 1\ndata:\n\n: alive\n\nretry: 500\n\nid: 2\nevent: message\r\ndata: {"é":\ndata: "☃😀"}\n\ndata: x\n\n'

test('events keep their ids, names, lines, comments and retry times, however the bytes are cut', async () => {
  const plain = await read(streaming(TEXT))
  expect(plain.events).toHaveLength(3)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(200), { maxLength: 12 }), async (cuts) => {
      expect(await read(mapEvents(streaming(TEXT, cuts), { each: (data) => data }))).toEqual(plain)
    }),
  )
})

test('an event can be changed or emptied, and one more added at the end', async () => {
  const passage = {
    each: (data: string, id: string | undefined) => (id === '2' ? undefined : data.toUpperCase()),
    last: () => 'the last',
  }
  const { events } = await read(mapEvents(streaming(TEXT), passage))
  expect(events).toMatchObject([{ id: '1', data: '' }, { id: '2', data: '' }, { data: 'X' }, { data: 'the last' }])
})

test('status and headers stay, and a length that is wrong now goes', () => {
  const response = new Response('data: x\n\n', { status: 201, headers: { ...headers, 'content-length': '9' } })
  const mapped = mapEvents(response, { each: (data) => data })
  expect([mapped.status, mapped.headers.get('mcp-session-id'), mapped.headers.get('content-length')]).toEqual([
    201,
    's',
    null,
  ])
})

test('an event without an end is an error, not memory', async () => {
  const chunk = new TextEncoder().encode(`data: ${'x'.repeat(1024 * 1024)}`)
  let sent = 0
  const body = new ReadableStream({
    pull(controller) {
      sent++
      controller.enqueue(chunk)
    },
  })
  await expect(mapEvents(new Response(body, { headers }), { each: (data) => data }).text()).rejects.toThrow()
  expect(sent).toBeLessThan(80)
})

test('whoever stops reading stops the source', async () => {
  let cancelled = false
  const body = new ReadableStream({ cancel: () => void (cancelled = true) })
  await mapEvents(endingQuietly(new Response(body, { headers })), { each: (data) => data }).body?.cancel()
  await settled()
  expect(cancelled).toBe(true)
})

test('a body that breaks off ends quietly where that was asked for', async () => {
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode('data: x\n\n'))
      controller.error(new Error('cut'))
    },
  })
  const { events } = await read(
    mapEvents(endingQuietly(new Response(body, { headers })), { each: (data) => data, last: () => 'end' }),
  )
  expect(events.at(-1)).toMatchObject({ data: 'end' })
})

test('answers are told apart by their media type', () => {
  expect(isEventStream(new Response('', { headers }))).toBe(true)
  expect(isEventStream(new Response('', { headers, status: 404 }))).toBe(false)
  expect(isJson(new Response('{}', { headers: { 'content-type': 'Application/JSON;charset=utf-8' } }))).toBe(true)
  expect(isJson(new Response('{}', { headers: { 'content-type': 'application/jsonl' } }))).toBe(false)
})
