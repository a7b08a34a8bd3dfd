/** A way to a server that is open: its era and what it said of itself are known, and requests can be sent. */
import type { ClientCapabilities, Implementation } from '@modelcontextprotocol/client'
import type { Authorizer } from '../../client/index.ts'
import { type Era, isObject, type Json } from '../../protocol/index.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { GATEWAY_INFO } from '../version.ts'
import type { EntryVia } from '../loops/via.ts'
import type { Credentials, Relayed } from './relayed.ts'

export interface Link {
  readonly era: Era
  readonly about: About
  /** The number of requests that wait for an answer. */
  readonly inFlight: number
  readonly isClosed: boolean
  /** Whether the server may still work on a request that was given up, and ask or say something for it. */
  readonly hasLeftovers: boolean
  /** Whether its requests need nothing but headers, so that others can be sent beside it: no session, and no login. */
  readonly isDirect: boolean
  /** Whether each request has headers of its own, so that callers with different ones may share the link. */
  readonly hasOwnHeaders: boolean
  /** Whether the server gave out a session, which may hold something of whoever uses it. */
  readonly hasSession: boolean
  /** Whether its connection is the session, as with HTTP+SSE. */
  readonly isStreamSession: boolean
  /** The session over HTTP with which another link could go on. */
  readonly session: UpstreamSession | undefined
  request(relayed: Relayed): Promise<Json>
  /** Closes, and ends the session. */
  close(): Promise<void>
  /** Closes; the session stays, for whoever goes on with it. */
  detach(): Promise<void>
  /** Closes when the requests under way have ended. No other is sent on it. */
  retire(): Promise<void>
}

/** What is needed to go on with a session over HTTP. */
export interface UpstreamSession {
  readonly id: string
  /** The revision that was negotiated. */
  readonly version: string | undefined
}

/** What a server says of itself. */
export interface About {
  readonly version: string | undefined
  readonly info: Implementation | undefined
  readonly capabilities: Json
  readonly instructions: string | undefined
}

/**
 * Whose requests are on a link. What a server asks or logs says not for which of them: of one caller any of them will do. Those
 * without a name are different people, so that only a request that is alone gets it. `all`: of several callers with names.
 */
export type LinkCallers = 'one' | 'nameless' | 'all'

/** How a link is opened. */
export interface LinkOptions {
  /** The server's name, for errors. */
  readonly server: string
  /** The gateway that opens it. */
  readonly via: EntryVia
  /** The addresses of a server over HTTP. */
  readonly upstreams: Upstreams | undefined
  /** What the callers of this link can do, as a server of the session era is told. */
  readonly declared: ClientCapabilities
  /** What the caller has of their own whom it is opened for. */
  readonly credentials: Credentials | undefined
  /** The session of the caller to go on with, where another gateway began one. @default a new one */
  readonly session?: UpstreamSession | undefined
  /** The login of the gateway's operator at the server, where there is one. */
  readonly authorizer: () => Authorizer | undefined | Promise<Authorizer | undefined>
  readonly callers: LinkCallers
  /** How long one request may take, in milliseconds. */
  readonly timeoutMs: number
  /** How long the server may take to start and to say what it is. */
  readonly startMs: number
  /** Aborts when nobody wants the link any longer. What is being opened is closed then. */
  readonly signal: AbortSignal
  /** Notifications that belong to no request: changed lists, updated resources. */
  readonly onNotification: (method: string, params: Json) => void
  readonly onClosed: (why: string) => void
  /** What is masked in lines that the server's process writes, beside the variables it is started with. @default nothing */
  readonly masked?: readonly string[] | undefined
  /** A line that the server's process wrote to standard error, with secrets masked. */
  readonly onLog: (line: string) => void
}

export function aboutOf(result: Json, info: unknown, version: unknown): About {
  const { capabilities, instructions } = result
  return {
    version: typeof version === 'string' ? version : undefined,
    info: isObject(info) && typeof info['name'] === 'string' ? (info as Implementation) : undefined,
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === 'string' ? instructions : undefined,
  }
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

/** Cancels a request of the gateway itself after so long, or with a signal. What holds the request is let go when it is over. */
export class RequestDeadline {
  isOver = false
  #cancel: () => void = () => {}
  readonly #signal: AbortSignal | undefined
  readonly #timer: ReturnType<typeof setTimeout>

  constructor(limitMs: number, signal?: AbortSignal) {
    this.#timer = setTimeout(() => {
      this.isOver = true
      this.#cancel()
    }, limitMs)
    this.#signal = signal
    signal?.addEventListener('abort', this.#abort)
  }

  readonly onCancel = (listener: () => void): void => {
    this.#cancel = listener
    if (this.#signal?.aborted) listener()
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#abort)
  }

  readonly #abort = (): void => this.#cancel()
}
