/** An open connection to a server: its era and its description are known, and requests can be sent. */
import type { ClientCapabilities, Implementation, MessageExtraInfo } from '@modelcontextprotocol/client'
import type { Authorizer } from '../../client/index.ts'
import { type Era, isObject, type Json, type RequestId } from '../../protocol/index.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { GATEWAY_INFO } from '../version.ts'
import type { Via } from '../loops.ts'
import type { Credentials, Relayed } from './relayed.ts'

export interface Link {
  readonly era: Era
  readonly about: About
  /** The number of requests that wait for an answer. */
  readonly inFlight: number
  readonly isClosed: boolean
  /** Whether the server may still work on a cancelled request, and ask or log for it. */
  readonly hasLeftovers: boolean
  /**
   * Whether requests need only headers, no session and no login, so that requests can also be sent without this link.
   */
  readonly isDirect: boolean
  /** Whether each request has its own headers, so that callers with different ones may share the link. */
  readonly hasOwnHeaders: boolean
  /** Whether the server gave out a session, which may hold state of its callers. */
  readonly hasSession: boolean
  /** Whether the connection itself is the session, as with HTTP+SSE. */
  readonly isStreamSession: boolean
  /** The HTTP session that another link could resume. */
  readonly session: UpstreamSession | undefined
  request(relayed: Relayed): Promise<Json>
  /** Closes the link, and ends the session. */
  close(): Promise<void>
  /** Closes the link, and leaves the session for another gateway to resume. */
  detach(): Promise<void>
  /** Closes the link when its requests have ended. It takes no new ones. */
  retire(): Promise<void>
}

/** The facts needed to resume an HTTP session. */
export interface UpstreamSession {
  readonly id: string
  /** The negotiated revision. */
  readonly version: string | undefined
}

/** A server's description of itself. */
export interface About {
  readonly version: string | undefined
  readonly info: Implementation | undefined
  readonly capabilities: Json
  readonly instructions: string | undefined
}

/**
 * The callers whose requests are on a link. A server's question or log message does not name its request. `one`: any
 * request of the caller may receive it. `nameless`: anonymous callers are different people, so a request receives it
 * only if it is the only one. `all`: several callers with names.
 */
export type LinkCallers = 'one' | 'nameless' | 'all'

/** Facts of a transport about a message. */
export interface MessageInfo extends MessageExtraInfo {
  /** The request on whose stream it came. */
  readonly relatedRequestId?: RequestId
}

export interface LinkOptions {
  /** The server's name, for errors. */
  readonly server: string
  /** The name of the gateway that opens it. */
  readonly via: Via
  /** The addresses of a server over HTTP. */
  readonly upstreams: Upstreams | undefined
  /** The capabilities of the link's callers, as declared to a session-era server. */
  readonly declared: ClientCapabilities
  /** The credentials of the caller that it is opened for. */
  readonly credentials: Credentials | undefined
  /** The caller's session to resume, if another gateway began one. @default a new one */
  readonly session?: UpstreamSession | undefined
  /** The operator's login at the server, if there is one. */
  readonly authorizer: () => Authorizer | undefined | Promise<Authorizer | undefined>
  readonly callers: LinkCallers
  readonly timeoutMs: number
  /** Timeout for the server to start and to describe itself. */
  readonly startMs: number
  /** The largest message accepted from the server. @default 64 MB */
  readonly maxMessageBytes?: number | undefined
  /** Aborts when the link is no longer needed, and closes it while it is being opened. */
  readonly signal: AbortSignal
  /** Notifications that belong to no request: changed lists, updated resources. */
  readonly onNotification: (method: string, params: Json) => void
  readonly onClosed: (why: string) => void
  /** Called when the process of an open link has ended by itself, with what it printed. */
  readonly onEnded: (why: string, printed: readonly string[]) => void
  /** Values masked in lines of the server's process, beside the variables it is started with. @default none */
  readonly masked?: readonly string[] | undefined
  /** A line that the server's process wrote to standard error, with secrets masked. */
  readonly onLog: (line: string) => void
}

export function aboutOf(result: Json, info: unknown, version: unknown): About {
  const { capabilities, instructions } = result
  return {
    version: typeof version === 'string' ? version : undefined,
    info: isObject(info) && typeof info['name'] === 'string' ? infoOf(info) : undefined,
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === 'string' ? instructions.slice(0, MAX_INSTRUCTIONS_CHARS) : undefined,
  }
}

/** The members that are shown and compared. Servers may add any others. */
const INFO = ['name', 'title', 'version', 'architecture'] as const
const MAX_INFO_CHARS = 256
/** Models read the instructions first, so their length is limited. */
const MAX_INSTRUCTIONS_CHARS = 100_000

function infoOf(info: Json): Implementation {
  const texts = INFO.map((member) => [member, info[member]] as const)
  const known = texts.flatMap(([member, text]) =>
    typeof text === 'string' ? [[member, text.slice(0, MAX_INFO_CHARS)]] : [],
  )
  return Object.fromEntries(known) as Implementation
}

/** A request of the gateway itself. */
export function ownRequest(method: string, params: Json = {}, more: Partial<Relayed> = {}): Relayed {
  const peer = {
    era: 'legacy',
    version: '',
    client: GATEWAY_INFO,
    capabilities: {},
    logLevel: undefined,
    session: undefined,
    takesInputRequired: false,
  } as const
  return { method, params, peer, principal: undefined, notify: () => {}, onCancel: () => {}, ...more }
}

/** Cancels a request of the gateway itself with a signal. */
export function cancelledBy(signal: AbortSignal): Relayed['onCancel'] {
  return (listener) => (signal.aborted ? listener() : signal.addEventListener('abort', listener, { once: true }))
}
