/** Links over a connection: child processes of both eras, and the session era over HTTP and HTTP+SSE. */
import { randomInt } from 'node:crypto'
import type { Transport } from '@modelcontextprotocol/client'
import { isObject, type Json, LEGACY_VERSIONS, META, MODERN_VERSION, settledWithin } from '../../protocol/index.ts'
import { BackendError } from '../errors.ts'
import { BackendConnection } from './connection.ts'
import {
  type About,
  aboutOf,
  cancelledBy,
  type Link,
  type LinkOptions,
  ownRequest,
  type UpstreamSession,
} from './link.ts'
import { GATEWAY_INFO } from '../version.ts'
import type { Relayed } from './relayed.ts'

/** Timeout of the stateless era's first request. A process that does not answer it is of the session era. */
const DISCOVER_MS = 5000

/** A transport, and how to end its session. */
export interface OpenedTransport {
  readonly transport: Transport
  endSession(): Promise<void>
  setHeaders?(headers: Readonly<Record<string, string>>): void
  /** Whether the connection itself is a session. */
  readonly isSession?: boolean
  /**
   * Resolves when the server can send messages that belong to no response; servers lose those that they send earlier.
   */
  readonly listening?: Promise<void>
  /** Maximum wait for `listening`. @default 1000 */
  readonly listeningMs?: number | undefined
  /** Reopens the listening stream of a session that another gateway began. */
  listenAgain?(): Promise<void>
}

/** Default of `listeningMs`: servers that open this stream may send the first byte much later. */
const LISTENING_MS = 1000

/** `asks`: whether the stateless era is tried first. */
export async function openSession(opened: OpenedTransport, options: LinkOptions, asks: boolean): Promise<Link> {
  const { signal } = options
  const connection = new BackendConnection({ ...options, transport: opened.transport })
  const unwanted = Promise.withResolvers<never>()
  const abandon = (): void => unwanted.reject(notWanted(options.server))
  signal.addEventListener('abort', abandon)
  try {
    if (signal.aborted) throw notWanted(options.server)
    const about = await Promise.race([begin(connection, opened, options, asks), unwanted.promise])
    return new SessionLink(connection, about, opened)
  } catch (error) {
    await connection.close() // also fails the requests that wait for the server
    throw error
  } finally {
    signal.removeEventListener('abort', abandon)
  }
}

async function begin(
  connection: BackendConnection,
  { transport, listening, listeningMs = LISTENING_MS }: OpenedTransport,
  options: LinkOptions,
  asks: boolean,
): Promise<About> {
  await transport.start()
  const found = asks ? await discover(connection, options.startMs) : undefined
  const about = found ?? (await initialize(connection, transport, options))
  if (connection.era === 'legacy') await settledWithin(listening, listeningMs)
  return about
}

function notWanted(server: string): BackendError {
  return new BackendError('BACKEND_LOST', server, 'is not wanted any longer.')
}

/** Range of request ids in a resumed session, because requests of the previous gateway may still be in flight. */
const NEW_IDS = { least: 2 ** 20, range: 2 ** 30 }

/** Resumes a session that another gateway began. The first request shows whether the server still knows it. */
export async function resumeSession(
  opened: OpenedTransport,
  options: LinkOptions,
  session: UpstreamSession,
): Promise<Link> {
  const { transport } = opened
  const firstId = NEW_IDS.least + randomInt(NEW_IDS.range)
  const connection = new BackendConnection({ ...options, transport, firstId })
  connection.era = 'legacy'
  await transport.start()
  await settledWithin(opened.listenAgain?.(), LISTENING_MS)
  return new SessionLink(connection, aboutOf({}, undefined, session.version), opened)
}

/** A stateless-era server's description of itself; undefined if it is of the session era. */
async function discover(connection: BackendConnection, startMs: number): Promise<About | undefined> {
  connection.era = 'modern'
  const late = AbortSignal.timeout(Math.min(DISCOVER_MS, startMs))
  try {
    return discovered(await connection.request(ownRequest('server/discover', {}, { onCancel: cancelledBy(late) })))
  } catch (error) {
    if (connection.isClosed) throw error
    return undefined
  }
}

export function discovered(result: Json): About | undefined {
  const { supportedVersions, _meta: meta } = result
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_VERSION)) return undefined
  return aboutOf(result, isObject(meta) ? meta[META.server] : undefined, MODERN_VERSION)
}

/**
 * The revision must be valid in a header: over HTTP each request carries it, also after another gateway resumes the
 * session.
 */
const IN_HEADER = /^[\x21-\x7e]{1,100}$/

async function initialize(connection: BackendConnection, transport: Transport, options: LinkOptions): Promise<About> {
  const { server, declared, startMs } = options
  connection.era = 'legacy'
  const params = { protocolVersion: LEGACY_VERSIONS[0], capabilities: declared, clientInfo: GATEWAY_INFO }
  const late = AbortSignal.timeout(startMs)
  const initialized = connection.request(ownRequest('initialize', params, { onCancel: cancelledBy(late) }))
  const result = await initialized.catch((error: unknown) => {
    if (!late.aborted) throw error
    throw new BackendError('BACKEND_TIMEOUT', server, `has not started within ${startMs / 1000} seconds.`)
  })
  const { protocolVersion: version } = result
  if (typeof version === 'string' && !IN_HEADER.test(version))
    throw new BackendError('BACKEND_DOWN', server, 'names a revision of the protocol that is none.')
  if (typeof version === 'string') transport.setProtocolVersion?.(version)
  connection.notify('notifications/initialized')
  return aboutOf(result, result['serverInfo'], version)
}

class SessionLink implements Link {
  readonly isDirect = false
  readonly hasOwnHeaders = false
  readonly about: About
  readonly #connection: BackendConnection
  readonly #opened: OpenedTransport

  constructor(connection: BackendConnection, about: About, opened: OpenedTransport) {
    this.#connection = connection
    this.about = about
    this.#opened = opened
  }

  get era() {
    return this.#connection.era
  }

  get inFlight(): number {
    return this.#connection.inFlight
  }

  get isClosed(): boolean {
    return this.#connection.isClosed
  }

  get hasLeftovers(): boolean {
    return this.#connection.hasLeftovers
  }

  get hasSession(): boolean {
    return this.isStreamSession || this.#opened.transport.sessionId !== undefined
  }

  get isStreamSession(): boolean {
    return this.#opened.isSession === true
  }

  get session(): UpstreamSession | undefined {
    const { sessionId: id } = this.#opened.transport
    const isResumable = this.era === 'legacy' && this.#opened.listenAgain !== undefined
    return isResumable && id !== undefined ? { id, version: this.about.version } : undefined
  }

  request(relayed: Relayed): Promise<Json> {
    const { headers } = relayed.credentials ?? {}
    if (headers !== undefined) this.#opened.setHeaders?.(headers)
    return this.#connection.request(relayed)
  }

  async close(): Promise<void> {
    await this.#opened.endSession().catch(() => {}) // the session ended with its server
    await this.#connection.close()
  }

  async detach(): Promise<void> {
    await this.#connection.close()
  }

  async retire(): Promise<void> {
    await this.#connection.whenIdle()
    await this.close()
  }
}
