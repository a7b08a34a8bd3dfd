/** A caller's request on its way to a server behind the gateway, with the channel back to the caller. */
import type { ClientCapabilities, InputRequest } from '@modelcontextprotocol/client'
import {
  CLIENT_STATE_EXTENSION,
  CODES,
  declares,
  declaresTasks,
  type Era,
  isObject,
  type Json,
  keepsState,
  META,
  MODERN_VERSION,
  RemoteError,
  TASKS_EXTENSION,
} from '../../protocol/index.ts'
import type { Call, Peer, Principal } from '../../server/internal.ts'
import { GATEWAY_INFO } from '../version.ts'

/** The credentials of one caller: headers for a server over HTTP, environment variables for a program. */
export interface Credentials {
  readonly headers?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Whether the caller can be asked at once (`here`), is being asked already (`asked`), or may be gone together with the
 * gateway that asked (`gone`).
 */
export type Presence = 'here' | 'asked' | 'gone'

/** Rejects a question whose client may be gone; it can be asked again in any call of that client. */
export class AskAgain extends Error {}

/** Rejects a question that the client has not answered in time. */
export class NotAnswered extends RemoteError {
  constructor(withinMs: number) {
    super(CODES.INTERNAL_ERROR, `The question was not answered within ${withinMs / 1000} seconds.`)
  }
}

export interface Relayed {
  readonly method: string
  /** The caller's parameters, with the names that the server knows. */
  readonly params: Json
  readonly peer: Peer
  readonly principal: Principal | undefined
  /** The caller's name, if only the client's own state identifies it. */
  readonly caller?: string | undefined
  /** The address of an anonymous caller, if known. */
  readonly address?: string | undefined
  /** The caller's Authorization header. It is forwarded only if the server's entry says so. */
  readonly authorization?: string | undefined
  /** The credentials for this caller alone. */
  readonly credentials?: Credentials | undefined
  /** The capabilities declared on its link to a session-era server. @default none */
  readonly declared?: ClientCapabilities
  /** Headers that mirror arguments, for servers over HTTP. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sends a notification that belongs to this request. */
  notify(method: string, params: Json): void
  /** Asks the caller during the call; absent if that is impossible. */
  readonly ask?: ((request: InputRequest) => Promise<Json>) | undefined
  /** @default 'here' */
  readonly presence?: () => Presence
  readonly isEndless?: boolean
  /** Whether the answer reaches a client; if not, it will be requested again. @default it does */
  readonly isDelivered?: () => boolean
  /** Calls the listener when the caller cancels or disconnects. */
  onCancel(listener: () => void): void
}

const ENVELOPE: ReadonlySet<string> = new Set([META.version, META.client, META.capabilities, META.logLevel])

/** The parameters for a server of this era: with the envelope of the stateless era, or without it. */
export function paramsFor(era: Era, { params, peer, ask }: Pick<Relayed, 'params' | 'peer' | 'ask'>): Json {
  if (era === peer.era) return params
  const meta = params['_meta'] as Json | undefined
  // A client that takes questions as results can be asked in either era.
  const canBeAsked = ask !== undefined || peer.takesInputRequired
  if (era === 'modern') return { ...params, _meta: { ...meta, ...envelopeOf(peer, canBeAsked) } }
  if (meta === undefined) return params
  return { ...params, _meta: Object.fromEntries(Object.entries(meta).filter(([key]) => !ENVELOPE.has(key))) }
}

/** A call in the form in which it is forwarded to another gateway: stateless-era, with its session if it has one. */
export function forwardable(call: Call, ask?: Relayed['ask']): Call & { readonly session?: string } {
  const { session } = call.peer
  return { ...call, params: paramsFor('modern', { ...call, ask }), ...(session !== undefined && { session }) }
}

/** The same for a call that another gateway starts. A call that asks for a task accepts tasks. */
export function asModern(call: Call): Call & { readonly session?: string } {
  const peer = isObject(call.params['task']) || call.method.startsWith('tasks/') ? withTasks(call.peer) : call.peer
  return forwardable({ ...call, peer }, unused)
}

/** A round of a call in the form of a stateless-era client. */
export function asRound(call: Call, round: Json): Call {
  const modern = asModern({ ...call, params: { ...call.params, ...round } })
  return { ...modern, peer: { ...call.peer, era: 'modern', version: MODERN_VERSION, takesInputRequired: true } }
}

/**
 * A call as of a client that takes forms as results, for a call whose forms are answered elsewhere. It belongs to its
 * principal alone, so that it can continue without the client's session.
 */
export function asAskable(call: Call): Call {
  const { params, principal } = call
  const { capabilities } = call.peer
  const peer: Peer = {
    ...call.peer,
    era: 'modern',
    version: MODERN_VERSION,
    capabilities: { ...capabilities, elicitation: Object.assign({}, capabilities.elicitation, { form: {} }) },
    session: principal === undefined ? call.peer.session : undefined,
    takesInputRequired: true,
  }
  const meta = isObject(params['_meta']) ? params['_meta'] : {}
  return { ...call, peer, params: { ...params, _meta: { ...meta, ...envelopeOf(peer, true) } } }
}

/** Never called; its presence shows that the caller can be asked. */
function unused(): Promise<Json> {
  return Promise.reject(new TypeError('The other gateway asks.'))
}

/** A client that accepts tasks of the stateless era: the gateway does so for clients of the session era. */
export function withTasks(peer: Peer): Peer {
  const { capabilities } = peer
  const extensions = { ...extensionsOf(peer), [TASKS_EXTENSION]: {} }
  return { ...peer, capabilities: { ...capabilities, extensions } }
}

/** Declines tasks for a session-era client, which gets one only if the call asks for it. */
export function plainly(call: Call): Call {
  return call.peer.era === 'modern' || !declaresTasks(call.peer.capabilities)
    ? call
    : { ...call, peer: withoutTasks(call.peer) }
}

/** A client that accepts no tasks: in the session era a call becomes a task only if the call itself asks for one. */
function withoutTasks(peer: Peer): Peer {
  const { [TASKS_EXTENSION]: _, ...extensions } = extensionsOf(peer)
  return { ...peer, capabilities: { ...peer.capabilities, extensions } }
}

function extensionsOf({ capabilities }: Pick<Peer, 'capabilities'>): NonNullable<ClientCapabilities['extensions']> {
  return isObject(capabilities.extensions) ? capabilities.extensions : {}
}

function envelopeOf({ client, capabilities, logLevel }: Peer, canBeAsked: boolean): Json {
  return {
    [META.version]: MODERN_VERSION,
    [META.client]: client ?? GATEWAY_INFO,
    [META.capabilities]: canBeAsked ? capabilities : withoutQuestions(capabilities),
    ...(logLevel !== undefined && { [META.logLevel]: logLevel }),
  }
}

/** The capabilities with which a client declares the questions it accepts, and their modes. */
const QUESTIONS = { elicitation: ['form', 'url'], sampling: ['tools', 'context'], roots: [] } as const
const QUESTION_KINDS = Object.keys(QUESTIONS) as readonly QuestionKind[]

/** The capabilities of a client that takes every question. */
export const EVERY_QUESTION: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {},
}

export type QuestionKind = keyof typeof QUESTIONS

export function withoutQuestions(capabilities: ClientCapabilities): ClientCapabilities {
  const asked: ReadonlySet<string> = new Set(QUESTION_KINDS)
  return Object.fromEntries(Object.entries(capabilities).filter(([kind]) => !asked.has(kind)))
}

/** MCP Apps, the extension that session-era servers read, and the type of page that it defines. */
const APPS_EXTENSION = 'io.modelcontextprotocol/ui'
const APPS_TYPE = 'text/html;profile=mcp-app'

/**
 * A client's capabilities as declared to a session-era server, once for all calls of a link. Equal ones are written
 * alike, so that their clients may share links. Clients write them at each request, so only what such servers read is
 * passed on: there is a limited number of declarations, and so of links and leases of one caller.
 */
export function declaredBy(peer: Pick<Peer, 'capabilities'>): ClientCapabilities {
  const { capabilities } = peer
  const isState = keepsState(capabilities)
  const extensions = { ...appsOf(peer), ...(isState && { [CLIENT_STATE_EXTENSION]: {} }) }
  const questions = QUESTION_KINDS.filter((kind) => isObject(capabilities[kind])).map((kind): [string, Json] => {
    const modes = QUESTIONS[kind].filter((mode) => declares(capabilities, `${kind}.${mode}`))
    return [kind, Object.fromEntries(modes.map((mode) => [mode, {}]))]
  })
  return {
    ...Object.fromEntries(questions),
    ...(isState && { state: {} }),
    ...(Object.keys(extensions).length > 0 && { extensions }),
  }
}

function appsOf(peer: Pick<Peer, 'capabilities'>): Json {
  const declared = extensionsOf(peer)[APPS_EXTENSION]
  if (!isObject(declared)) return {}
  const { mimeTypes } = declared
  const isKnown = Array.isArray(mimeTypes) && mimeTypes.includes(APPS_TYPE)
  return { [APPS_EXTENSION]: isKnown ? { mimeTypes: [APPS_TYPE] } : {} }
}

/** The part of a caller's capabilities that lets a server ask. */
export function questionsOf({ peer, ask }: Pick<Relayed, 'peer' | 'ask'>): ClientCapabilities {
  if (ask === undefined) return {}
  const declared = QUESTION_KINDS.filter((kind) => peer.capabilities[kind] !== undefined)
  return Object.fromEntries(declared.map((kind) => [kind, peer.capabilities[kind]]))
}
