/**
 * A suspended call as plain JSON. It may be stored in a file, a database or a queue for days, and another process may
 * resume it. It holds the arguments of the call and the server's state, so it needs the same protection as they do.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json, metaOf } from '../../protocol/index.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import { ClientError } from '../errors.ts'
import { readInputRequest } from '../questions/inputRequests.ts'

/** The methods that can ask (MRTR). */
export const ASKING_METHODS = ['tools/call', 'prompts/get', 'resources/read'] as const

/** The requests in which a server may ask. */
export type AskingMethod = (typeof ASKING_METHODS)[number]

/** A call that waits without a process. Plain JSON; its arguments and state may be secret. */
export interface SavedCall extends SavedPlace {
  /** The version of this format. A reader refuses a newer one. */
  readonly version: 1
  readonly savedAt: string
  /** The server's own name. */
  readonly server: string | null
  readonly method: AskingMethod
  /** The parameters of the first round, without those that belong to one round or one connection. */
  readonly params: Json
  /** The questions without an answer. */
  readonly inputRequests: Readonly<Record<string, InputRequest>>
  /** The answers that other answerers of the same round gave. They are sent with the missing ones. */
  readonly inputResponses: Readonly<Record<string, Json>>
  /** Exactly as the server sent it; absent if it sent none. */
  readonly requestState?: string
}

export const SAVED_VERSION = 1

// Each round has its own answers and state; each connection has its own envelope, progress token and jar.
const OF_ONE_ROUND = new Set(['inputResponses', 'requestState', '_meta'])
const OF_ONE_CONNECTION =
  /^(progressToken|io\.modelcontextprotocol\/.*|(http:\/\/)?modelcontextprotocol\.io\/state\/.*)$/

/** The parameters that are the same in every round of a call, on any connection. */
export function lastingParams(params: Json): Json {
  const lasting = Object.entries(params).filter(([name]) => !OF_ONE_ROUND.has(name))
  const meta = Object.entries(metaOf(params)).filter(([name]) => !OF_ONE_CONNECTION.test(name))
  return { ...Object.fromEntries(lasting), ...(meta.length > 0 && { _meta: Object.fromEntries(meta) }) }
}

/** The name of the tool or prompt, or the URI of the resource. */
export function calledName({ params }: Pick<SavedCall, 'params'>): string | undefined {
  const name = params['name'] ?? params['uri']
  return typeof name === 'string' ? name : undefined
}

/** Reads a saved call, or its JSON text; throws, naming the field that is wrong and no value. */
export function readSaved(from: unknown): SavedCall {
  const saved = typeof from === 'string' ? parseSaved(from) : from
  if (!isObject(saved)) throw invalidSaved('it is not an object')
  const { version } = saved
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1)
    throw invalidSaved('"version" is missing')
  if (version > SAVED_VERSION) {
    throw new ClientError(
      'SAVED_NEWER',
      `The saved call has version ${version}, this program knows ${SAVED_VERSION}; continue it with a newer one.`,
    )
  }
  for (const [field, fits, expected] of FIELDS) {
    if (!fits(saved[field])) throw invalidSaved(`"${field}" must be ${expected}`)
  }
  return saved as unknown as SavedCall
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isTarget = (value: unknown): boolean =>
  value === null || isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText))
const isMethod = (value: unknown): boolean => (ASKING_METHODS as readonly unknown[]).includes(value)
const isQuestion = (value: unknown): boolean => readInputRequest(value) !== undefined

const FIELDS: readonly (readonly [keyof SavedCall, (value: unknown) => boolean, string])[] = [
  ['savedAt', isText, 'a time'],
  ['target', isTarget, 'a URL, a list of a command and its arguments, "file#name" or null'],
  ['cwd', (value) => value === undefined || isText(value), 'a path'],
  ['server', (value) => value === null || isText(value), 'a name or null'],
  ['method', isMethod, `one of ${ASKING_METHODS.join(', ')}`],
  ['params', isObject, 'an object'],
  ['inputRequests', (value) => isObject(value) && Object.values(value).every(isQuestion), 'questions by their keys'],
  ['inputResponses', (value) => isObject(value) && Object.values(value).every(isObject), 'responses by their keys'],
  ['requestState', (value) => value === undefined || isText(value), 'a string'],
]

// No `cause`: the runtime's message quotes the text.
function parseSaved(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidSaved('it is not JSON')
  }
}

function invalidSaved(what: string): ClientError {
  return new ClientError('SAVED_INVALID', `This is not a saved call: ${what}. Was it cut or changed?`)
}
