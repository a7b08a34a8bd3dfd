/** Reads an HTTP response, JSON or server-sent events, up to the awaited message and up to a limit of bytes. */
import type { IncomingMessage } from 'node:http'
import { EventParser, type StreamEvent, totalBytes } from '../../client/internal.ts'
import { mediaTypeOf, parseJson } from '../../protocol/index.ts'
import { replyIn, type ProbeReply, type HttpFacts, MAX_ANSWER_BYTES, withPlainText } from './reply.ts'

export interface ReplyReading {
  /** The id of the request. */
  readonly id: number
  /** Makes text of the server safe to show. */
  readonly shown: (text: string) => string
  /** Called with each message as it came. */
  readonly onText: (text: string) => void
}

class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

/** Rejects only if the connection breaks or is aborted. */
export async function readHttpReply(response: IncomingMessage, reading: ReplyReading): Promise<ProbeReply> {
  const http = httpFactsOf(response)
  const type = mediaTypeOf(response.headers['content-type'])
  const encoding = response.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') {
    response.destroy()
    return { kind: 'unreadable', why: 'it is compressed, which was not asked for', http }
  }
  try {
    const isStream = type === 'text/event-stream' && http.status < 300
    return isStream
      ? await readEventStream(response, reading, http)
      : await readPlainBody(response, type, reading, http)
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return { kind: 'unreadable', why: `it is larger than ${MAX_ANSWER_BYTES} bytes`, http }
  }
}

export function httpFactsOf({ statusCode = 0, headers }: IncomingMessage): HttpFacts {
  const session = headers['mcp-session-id']
  return {
    status: statusCode,
    session: typeof session === 'string' && session !== '' ? session : undefined,
    challenge: headers['www-authenticate'] !== undefined,
  }
}

async function readPlainBody(
  response: IncomingMessage,
  type: string,
  { id, shown, onText }: ReplyReading,
  http: HttpFacts,
): Promise<ProbeReply> {
  const chunks: Buffer[] = []
  for await (const chunk of bounded(response)) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  onText(text)
  const value = parseJson(text)
  const answer = replyIn(value, id)
  if (answer !== undefined) return { ...withPlainText(answer, shown), http }
  if (http.status >= 300) {
    return { kind: 'refused', status: http.status, text: type === 'text/html' ? '' : shown(text), http }
  }
  return { kind: 'unreadable', why: whyUnreadable(text, value), http }
}

async function readEventStream(response: IncomingMessage, reading: ReplyReading, http: HttpFacts): Promise<ProbeReply> {
  let lastEventId: string | undefined
  for await (const { data, id } of eventsIn(response)) {
    lastEventId = id ?? lastEventId
    if (data === '') continue
    reading.onText(data)
    const answer = replyIn(parseJson(data), reading.id)
    if (answer !== undefined) return { ...withPlainText(answer, reading.shown), http: { ...http, lastEventId } }
  }
  return { kind: 'unreadable', why: 'its stream ended without an answer', http: { ...http, lastEventId } }
}

/** The events of a response. Leaving the loop closes the connection. */
export async function* eventsIn(response: IncomingMessage): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder()
  let ready: StreamEvent[] = []
  // The parser needs no limit: `bounded` limits its input.
  const parser = new EventParser({ onEvent: (event) => void ready.push(event) })
  for await (const chunk of bounded(response)) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    const events = ready
    ready = []
    yield* events
  }
}

async function* bounded(response: IncomingMessage): AsyncGenerator<Buffer> {
  const sizeWith = totalBytes()
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (sizeWith(chunk) > MAX_ANSWER_BYTES) throw new TooLarge()
    yield chunk
  }
}

function whyUnreadable(text: string, value: unknown): string {
  if (text === '') return 'it is empty'
  return value === undefined ? 'it is not JSON' : 'it answers something else'
}
