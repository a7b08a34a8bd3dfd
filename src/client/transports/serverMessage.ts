/** The text of a message of a server: its limits are checked here, before it is parsed, whatever it came over. */
import type { JSONRPCErrorResponse } from '@modelcontextprotocol/client'
import {
  assertSmallText,
  CODES,
  isId,
  isMessage,
  MAX_MESSAGE_BYTES,
  parseJson,
  type RequestId,
} from '../../protocol/index.ts'
import { ClientError, registerCode } from '../errors.ts'
import { firstMembers, lastMember } from './jsonMember.ts'

/** A message is too long, nests too deep, or has too many keys and values. It was not parsed. */
export class MessageOverLimit extends ClientError {
  readonly #text: string

  /** `text`: of the message, which need not have its middle. */
  constructor(sentence: string, text = '') {
    super('MESSAGE_UNREADABLE', sentence)
    this.#text = edgesOf(text)
  }

  /** Which request it answers, or which answer its server waits for; undefined if it does not say. */
  get id(): RequestId | undefined {
    const id = memberOf(this.#text, 'id')
    return isId(id) ? id : undefined
  }

  get method(): string | undefined {
    const method = memberOf(this.#text, 'method')
    return typeof method === 'string' ? method : undefined
  }
}

/** Whether a line or an event may be a message. Lines that are not messages are not parsed, so they cost little. */
export function mayBeMessage(text: string): boolean {
  return text.includes('"jsonrpc"')
}

const MAX_UNREADABLE = 1000

/** A server is given up after this many messages in a row that cannot be read. */
export class ServerUnreadable extends ClientError {
  constructor() {
    super('MESSAGE_UNREADABLE', `The server sent ${MAX_UNREADABLE} messages in a row that cannot be read.`)
  }
}

/** Counts unreadable messages in a row, because each costs more than a readable message. */
export class UnreadableRun {
  #length = 0

  /** Whether the server is to be given up. */
  get isOver(): boolean {
    return this.#length >= MAX_UNREADABLE
  }

  /** Gives `isOver`. */
  add(): boolean {
    this.#length++
    return this.isOver
  }

  end(): void {
    this.#length = 0
  }
}

/** The error for a message that was too long to be kept. `edges`: its beginning and its end. */
export function tooLong(maxBytes: number, edges: string): MessageOverLimit {
  return new MessageOverLimit(`The message is longer than ${maxBytes} bytes.`, edges)
}

/** Throws MessageOverLimit. */
export function assertReadable(text: string, maxBytes = MAX_MESSAGE_BYTES): void {
  try {
    assertSmallText(text, maxBytes)
  } catch (error) {
    throw new MessageOverLimit((error as Error).message, text)
  }
}

/** The value of a message; undefined if it is not JSON. Throws MessageOverLimit. */
export function parseServerText(text: string, maxBytes = MAX_MESSAGE_BYTES): unknown {
  assertReadable(text, maxBytes)
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The error response for a message that was not parsed. A request of the server is answered with it; a response is replaced
 * by it. Undefined for a notification.
 */
export function refusalOf({
  id,
  method,
  message,
}: Pick<MessageOverLimit, 'id' | 'method' | 'message'>): JSONRPCErrorResponse | undefined {
  if (id === undefined) return undefined
  const data = { code: 'MESSAGE_UNREADABLE' } as const
  registerCode(data)
  const code = method === undefined ? CODES.INTERNAL_ERROR : CODES.INVALID_REQUEST
  return { jsonrpc: '2.0', id, error: { code, message, data } }
}

/** The data of an event, as its reader may parse it: the refusal in the place of a response that is over a limit. */
export function readableText(text: string, maxBytes: number): string | undefined {
  try {
    assertReadable(text, maxBytes)
    return text
  } catch (error) {
    const isResponse = error instanceof MessageOverLimit && error.method === undefined
    const refusal = isResponse ? refusalOf(error) : undefined
    return refusal && JSON.stringify(refusal)
  }
}

/** A longer text is taken for a message: its bytes cost the server more than they cost this side. */
const SHORT = 4096

/** Whether an event is a message, as far as that is found out at little cost. */
export function seemsMessage(text: string): boolean {
  return mayBeMessage(text) && (text.length > SHORT || isMessage(parseJson(text)))
}

/** Maximum length of the members before, and of those after, a value that is too large. */
const EDGE_CHARS = 1024

function edgesOf(text: string): string {
  return text.length <= 2 * EDGE_CHARS ? text : text.slice(0, EDGE_CHARS) + text.slice(-EDGE_CHARS)
}

/** Reads a member from the edges of a text: id and method stand before or after the value that is too large. */
function memberOf(text: string, name: string): unknown {
  const last = lastMember(text.slice(-EDGE_CHARS), name)
  if (last !== undefined) return parseJson(last)
  const first = firstMembers(text.slice(0, EDGE_CHARS)).findLast((member) => member.name === name)
  return first && parseJson(text.slice(first.valueFrom, first.to))
}

/** The size of a message while it comes. Whatever collects the chunks of one compares it with a limit. */

/** Takes the next chunk, and gives the size so far of the message that it belongs to. */
export type SizeCounter = (chunk: Uint8Array) => number

/** The least memory that a chunk takes. The first chunks of a message may be smaller. */
const MIN_CHUNK_BYTES = 128
const FREE_CHUNKS = 1000
/** Stands after a limit, in the sentence about a message that exceeds it. */
export const COUNTED = `where chunks count as ${MIN_CHUNK_BYTES} bytes at least`

export function totalBytes(): SizeCounter {
  let bytes = 0
  let chunks = 0
  return (chunk) => {
    bytes += ++chunks > FREE_CHUNKS ? Math.max(chunk.length, MIN_CHUNK_BYTES) : chunk.length
    return bytes
  }
}

/** A blank line ends an event: two line ends in a row, which may be in two chunks. */
export function eventBytes(): SizeCounter {
  let sizeWith = totalBytes()
  let last: number | undefined
  return (chunk) => {
    let end = chunk.length - 2
    while (end >= 0 && !isBlankLine(chunk[end], chunk[end + 1])) end--
    if (end >= 0 || isBlankLine(last, chunk[0])) sizeWith = totalBytes()
    last = chunk.at(-1) ?? last
    return sizeWith(end >= 0 ? chunk.subarray(end) : chunk)
  }
}

const LF = 0x0a
const CR = 0x0d

// A carriage return and a line feed are one line end.
function isBlankLine(first: number | undefined, second: number | undefined): boolean {
  return (first === LF && (second === LF || second === CR)) || (first === CR && second === CR)
}
