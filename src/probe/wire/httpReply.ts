/** Reads an HTTP answer, JSON or a stream of events, up to the message that was waited for and never without an end. */
import type { IncomingMessage } from 'node:http'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { mediaTypeOf, parseJson } from '../../protocol/index.ts'
import { answerIn, type Heard, type HttpFacts, MAX_ANSWER_BYTES, worded } from './reply.ts'

/** What a reader of an answer must be able to do with what a server wrote. */
export interface AnswerReading {
  readonly id: number
  /** Text of the server, fit to be shown. */
  readonly shown: (text: string) => string
  /** Told of each message as it came. */
  readonly onText: (text: string) => void
}

class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

/** Rejects only where the connection breaks or is ended from here. */
export async function readAnswer(response: IncomingMessage, reading: AnswerReading): Promise<Heard> {
  const http = factsOf(response)
  const type = mediaTypeOf(response.headers['content-type'])
  const encoding = response.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') {
    response.destroy()
    return { kind: 'unreadable', why: 'it is compressed, which was not asked for', http }
  }
  try {
    const isStream = type === 'text/event-stream' && http.status < 300
    return isStream ? await readStream(response, reading, http) : await readBody(response, type, reading, http)
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return { kind: 'unreadable', why: `it is larger than ${MAX_ANSWER_BYTES} bytes`, http }
  }
}

export function factsOf({ statusCode = 0, headers }: IncomingMessage): HttpFacts {
  const session = headers['mcp-session-id']
  return {
    status: statusCode,
    session: typeof session === 'string' && session !== '' ? session : undefined,
    challenge: headers['www-authenticate'] !== undefined,
  }
}

async function readBody(
  response: IncomingMessage,
  type: string,
  { id, shown, onText }: AnswerReading,
  http: HttpFacts,
): Promise<Heard> {
  const chunks: Buffer[] = []
  for await (const chunk of bounded(response)) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  onText(text)
  const value = parseJson(text)
  const answer = answerIn(value, id)
  if (answer !== undefined) return { ...worded(answer, shown), http }
  if (http.status >= 300) {
    return { kind: 'refused', status: http.status, text: type === 'text/html' ? '' : shown(text), http }
  }
  return { kind: 'unreadable', why: whyNoAnswer(text, value), http }
}

async function readStream(response: IncomingMessage, reading: AnswerReading, http: HttpFacts): Promise<Heard> {
  let lastEventId: string | undefined
  for await (const { data, id } of eventsIn(response)) {
    lastEventId = id ?? lastEventId
    if (data === '') continue
    reading.onText(data)
    const answer = answerIn(parseJson(data), reading.id)
    if (answer !== undefined) return { ...worded(answer, reading.shown), http: { ...http, lastEventId } }
  }
  return { kind: 'unreadable', why: 'its stream ended without an answer', http: { ...http, lastEventId } }
}

/** The events of an answer. Leaving the loop ends the connection. */
export async function* eventsIn(response: IncomingMessage): AsyncGenerator<EventSourceMessage> {
  const decoder = new TextDecoder()
  let ready: EventSourceMessage[] = []
  // No limit of its own: what it is fed has one.
  const parser = createParser({ onEvent: (event) => void ready.push(event) })
  for await (const chunk of bounded(response)) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    const events = ready
    ready = []
    yield* events
  }
}

async function* bounded(response: IncomingMessage): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new TooLarge()
    yield chunk
  }
}

function whyNoAnswer(text: string, value: unknown): string {
  if (text === '') return 'it is empty'
  return value === undefined ? 'it is not JSON' : 'it answers something else'
}
