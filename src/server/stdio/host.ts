/**
 * The server on a pair of byte streams, one message per line. A request with an envelope is served as stateless; after
 * an `initialize`, all others belong to the session of the connection.
 */
import type { Readable, Writable } from 'node:stream'
import {
  hasEnvelope,
  idOf,
  type Message,
  metaOf,
  MODERN_VERSION,
  OpenRequests,
  type OptionNames,
  ProtocolError,
  readMessage,
  type RequestId,
  type RequestMessage,
} from '../../protocol/index.ts'
import { assertNamed, type Principal } from '../auth/authenticator.ts'
import { MAX_BODY_BYTES, parseBytes } from '../http/body.ts'
import { MAX_UNREAD_BYTES } from '../http/exchange.ts'
import type { Call, CallHandler, Channel, Peer } from '../call.ts'
import { assertBatch, readBatched } from '../legacy/batch.ts'
import { newId } from '../binding.ts'
import type { DrainableHost } from '../lifecycle/shutdown.ts'
import type { EventBus, ServerEvent } from '../lifecycle/eventBus.ts'
import { errorDetails, type LoggerSlot } from '../logger.ts'
import { readLines } from './lines.ts'
import { modernCall } from '../modern/request.ts'
import { errorMessage, notificationMessage } from '../results.ts'
import { legacyPeer, unknownPeer } from '../legacy/session.ts'
import { StdioChannel } from './channel.ts'
import { withRedirectedConsole } from './consoleRedirect.ts'
import { notificationFor, type WatchGuard } from '../modern/subscriptions.ts'
import type { SessionPart } from '../legacy/sessionEra.ts'
import { isExpected, toWireError } from '../wireErrors.ts'

export interface StdioOptions {
  /** Where messages come from. @default process.stdin */
  input?: Readable
  /** Where messages go. @default process.stdout */
  output?: Writable
  /** The longest line that is accepted, in bytes. @default 4194304 */
  maxLineBytes?: number
  /** Who calls on this connection. @default an anonymous caller */
  principal?: Principal
  /** Whether SIGTERM drains the server and then ends the process. @default true */
  drainOnTerm?: boolean
}

export const STDIO_OPTIONS: OptionNames<StdioOptions> = {
  input: true,
  output: true,
  maxLineBytes: true,
  principal: true,
  drainOnTerm: true,
}

export interface StdioParts {
  readonly calls: CallHandler
  /** Absent if the session era is not served. */
  readonly sessions: Pick<SessionPart, 'pushes' | 'sessions' | 'facts'> | undefined
  readonly bus: EventBus
  readonly access: WatchGuard
  readonly logger: LoggerSlot
}

/** Serves the connection with a redirected console, for a host that needs no time before. */
export function serveStdio(parts: StdioParts, options: StdioOptions, hosts: Set<DrainableHost>): Promise<void> {
  return withRedirectedConsole(parts.logger, () => serveConnection(parts, options, hosts))
}

/** Serves the connection until its input ends; resolves when the last answer is written. */
export async function serveConnection(
  parts: StdioParts,
  options: StdioOptions,
  hosts: Set<DrainableHost>,
): Promise<void> {
  const { input = process.stdin, output = process.stdout, maxLineBytes = MAX_BODY_BYTES } = options
  const connection = new Connection(parts, output, options.principal)
  hosts.add(connection)
  // A client that closed our output has disconnected, even if our input is still open.
  const unread = new Promise<void>((resolve) => output.on('error', () => resolve()))
  const reading = readLines(input, maxLineBytes, (line) => connection.receive(line, maxLineBytes))
  await Promise.race([reading, unread.then(() => void input.destroy())])
  await connection.finish()
  hosts.delete(connection)
}

class Connection implements DrainableHost {
  readonly #parts: StdioParts
  readonly #output: Writable
  readonly #principal: Principal | undefined
  readonly #live = new OpenRequests<StdioChannel>()
  readonly #stopNews: () => void
  /** Each connection has its own: log level, watched resources and questions are not shared. */
  readonly #session = `stdio/${newId()}`
  #underWay = new Set<Promise<void>>()
  #unsent: string[] = []
  /** The characters of notifications in it. */
  #unsentLength = 0
  #peer: Peer | undefined

  constructor(parts: StdioParts, output: Writable, principal: Principal | undefined) {
    if (principal !== undefined) assertNamed(principal)
    this.#principal = principal
    this.#parts = parts
    this.#output = output
    this.#stopNews = parts.bus.subscribe((event) => this.#tellSession(event))
  }

  receive(line: Buffer | 'too long', maxBytes: number): void {
    let value: unknown
    try {
      if (line === 'too long') throw new ProtocolError('PARSE_FAILED', 'The line is too long.')
      value = parseBytes(line, maxBytes)
      if (Array.isArray(value)) this.#takeBatch(value)
      else this.#dispatch(readMessage(value))
    } catch (error) {
      this.send(errorMessage(idOf(value), toWireError(error)))
    }
  }

  /** Batches all lines of one turn of the event loop into one write. */
  send(message: string): void {
    if (this.#unsent.push(message) === 1) setImmediate(() => this.#flush())
  }

  /** Progress and log messages to a client that does not read are dropped, because they would fill the memory. */
  #notify(message: string): void {
    this.#unsentLength += message.length
    if (this.#output.writableLength + this.#unsentLength <= MAX_UNREAD_BYTES) this.send(message)
  }

  async finish(): Promise<void> {
    this.#stopNews()
    for (const channel of this.#live.values()) channel.cancel()
    await this.drain()
  }

  async drain(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
    this.#flush()
  }

  #flush(): void {
    if (this.#unsent.length === 0) return
    const text = `${this.#unsent.join('\n')}\n`
    this.#unsent = []
    this.#unsentLength = 0
    this.#output.write(text)
  }

  /** Each message is served and answered separately. */
  #takeBatch(values: readonly unknown[]): void {
    assertBatch(values, this.#parts.sessions ? (this.#peer ?? unknownPeer(undefined)).version : MODERN_VERSION)
    for (const value of values) {
      try {
        this.#dispatch(readBatched(value))
      } catch (error) {
        this.send(errorMessage(idOf(value), toWireError(error)))
      }
    }
  }

  #dispatch(message: Message): void {
    switch (message.kind) {
      case 'request':
        return this.#track(this.#serve(message))
      case 'response':
        return this.#track(this.#takeAnswer(message))
      case 'notification':
        if (message.method === 'notifications/cancelled')
          this.#live.get(message.params['requestId'] as RequestId)?.cancel()
        return
      default:
        return message satisfies never
    }
  }

  #track(work: Promise<void>): void {
    this.#underWay.add(work)
    void work.finally(() => this.#underWay.delete(work))
  }

  async #serve(message: RequestMessage): Promise<void> {
    const { calls } = this.#parts
    const channel = new StdioChannel(
      (text) => this.send(text),
      (text) => this.#notify(text),
      this.#parts.sessions?.pushes,
    )
    let body: string
    try {
      const call = channel.serve(this.#callOf(message, channel))
      this.#live.set(message.id, channel)
      const answer = calls.answer(call)
      body = (answer instanceof Promise ? await answer : answer).body
    } catch (error) {
      body = errorMessage(message.id, toWireError(error))
    }
    if (this.#live.get(message.id) === channel) this.#live.delete(message.id)
    channel.finish(body)
  }

  #callOf(message: RequestMessage, channel: Channel): Call {
    const { sessions: era } = this.#parts
    if (era === undefined || hasEnvelope(message.params) || message.method === 'server/discover') {
      return modernCall({ message, header: undefined, principal: this.#principal, channel })
    }
    if (message.method === 'initialize')
      this.#peer = { ...legacyPeer(era.sessions.handshake(message.params)), session: this.#session }
    const peer = { ...(this.#peer ?? unknownPeer(undefined)), logLevel: this.#peer && era.facts.levelOf(this.#session) }
    const { id, method, params } = message
    return {
      id,
      method,
      params,
      meta: metaOf(params),
      peer,
      principal: this.#principal,
      channel,
      header: undefined,
    }
  }

  async #takeAnswer(message: Message & { kind: 'response' }): Promise<void> {
    const { sessions, logger } = this.#parts
    if (sessions === undefined || this.#peer === undefined) return
    try {
      // All calls of this connection began in this process, so no call has to be resumed.
      await sessions.pushes.take(message, { peer: this.#peer, principal: this.#principal })
    } catch (error) {
      // As over HTTP: the error goes to the sender of the answer, and the question stays open.
      if (!isExpected(error)) logger.current.error({ err: errorDetails(error) }, 'An answer could not be taken.')
      this.send(errorMessage(message.id, toWireError(error)))
    }
  }

  #tellSession(event: ServerEvent): void {
    const { sessions, access } = this.#parts
    if (sessions === undefined || this.#peer === undefined) return
    const resourceSubscriptions = [...sessions.facts.watchedBy(this.#session)]
    const filter = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions,
    } as const
    const news = notificationFor(event, filter, this.#principal, access)
    if (news !== undefined) this.send(notificationMessage(news.method, news.params))
  }
}
