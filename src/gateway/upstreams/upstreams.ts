/**
 * The addresses of a server over HTTP: one, or several replicas. A request goes to the address with the fewest requests
 * in flight. An address to which connecting fails is left out until connecting works again. A request that was not sent
 * goes to the next address; one that was sent is never sent again.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { type buildConnector, type Dispatcher, Pool } from 'undici'
import { backoffMs, MAX_MESSAGE_BYTES, sleep } from '../../protocol/index.ts'
import { type Via, VIA_HEADER } from '../loops.ts'

const RETRY = { firstMs: 500, maxMs: 30_000 }
/** No timeouts of undici: callers have their own. */
const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 }

/** Receives the answer to a request. Either `end` or `fail` is called once, unless the request is cancelled. */
export interface AnswerReceiver {
  begin(status: number, headers: IncomingHttpHeaders): void
  data(chunk: Buffer): void
  end(): void
  /** `wasSent`: whether the server may have got the request. */
  fail(error: Error, wasSent: boolean): void
}

export interface UpstreamMessage {
  /** @default POST */
  readonly method?: 'GET' | 'DELETE'
  /** @default that of the address */
  readonly path?: string | undefined
  /** Names and values in turn. */
  readonly headers: string[]
  readonly body?: Buffer | string
}

export class Upstream {
  readonly url: string
  /** The largest message accepted from it. */
  readonly maxMessageBytes: number
  readonly #via: Via | undefined
  readonly #pool: Pool
  #path: string
  inFlight = 0
  /** Whether the last attempt to connect failed, so that the address is left out. */
  isOut = false
  /** Whether it has answered a request for a stream before. Some servers answer only with the first event. */
  answersStreams = false

  /** `connect`: how connections are made. @default over the network */
  constructor(url: string, via?: Via, maxMessageBytes = MAX_MESSAGE_BYTES, connect?: buildConnector.connector) {
    const { origin, pathname, search } = new URL(url)
    this.url = url
    this.maxMessageBytes = maxMessageBytes
    this.#via = via
    this.#path = pathname + search
    this.#pool = new Pool(origin, { ...NO_TIMEOUTS, ...(connect !== undefined && { connect }) })
  }

  dispatch(message: UpstreamMessage, handler: Dispatcher.DispatchHandler): void {
    const { method = 'POST', path = this.#path, headers, body = null } = message
    this.#pool.dispatch({ method, path, headers, body }, handler)
  }

  /** Sends to this address only. */
  send(message: UpstreamMessage, receiver: AnswerReceiver): UpstreamRequest {
    const request = new UpstreamRequest(this, sentBy(this.#via, message), receiver)
    request.start()
    return request
  }

  /** Sends further requests to another path, such as one with a trailing slash. */
  moveTo(path: string): void {
    this.#path = path
  }

  /** Whether connecting works. Sends nothing. */
  connects(): Promise<boolean> {
    return new Promise((resolve) => {
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: (controller) => {
          resolve(true)
          controller.abort(new Error('Connecting works.'))
        },
        onResponseError: () => resolve(false),
      }
      this.dispatch({ headers: [], body: '' }, handler)
    })
  }

  /** Closes the pool; requests in flight finish. */
  close(): void {
    void this.#pool.close()
  }
}

export class Upstreams {
  readonly all: readonly Upstream[]
  readonly #via: Via | undefined
  readonly #closed = new AbortController()
  #last = 0

  /** `via`: the sending gateway. */
  constructor(
    urls: readonly string[],
    via?: Via,
    maxMessageBytes = MAX_MESSAGE_BYTES,
    connect?: buildConnector.connector,
  ) {
    this.#via = via
    this.all = [...new Set(urls)].map((url) => new Upstream(url, via, maxMessageBytes, connect))
  }

  get maxMessageBytes(): number {
    return this.first.maxMessageBytes
  }

  /** The address for sessions and logins. */
  get first(): Upstream {
    const [first] = this.all
    if (first === undefined) throw new TypeError('A server has no address.')
    return first
  }

  send(message: UpstreamMessage, receiver: AnswerReceiver): UpstreamRequest {
    const request = new UpstreamRequest(this.pick() ?? this.first, sentBy(this.#via, message), receiver, this)
    request.start()
    return request
  }

  /** The address with the fewest requests in flight; one that is left out only if there is no other. */
  pick(tried?: ReadonlySet<Upstream>): Upstream | undefined {
    const { all } = this
    if (all.length === 1) return tried === undefined ? all[0] : undefined
    this.#last++
    let best: Upstream | undefined
    for (let at = 0; at < all.length; at++) {
      const each = all[(this.#last + at) % all.length]
      if (each === undefined || tried?.has(each)) continue
      if (best === undefined || isBetter(each, best)) best = each
    }
    return best
  }

  /** Leaves out an address to which connecting failed, and retries to connect in the background. */
  leaveOut(upstream: Upstream): void {
    if (upstream.isOut || this.all.length === 1) return
    upstream.isOut = true
    void this.#bringBack(upstream)
  }

  close(): void {
    this.#closed.abort()
    for (const each of this.all) each.close()
  }

  async #bringBack(upstream: Upstream): Promise<void> {
    const { signal } = this.#closed
    for (let attempt = 1; !signal.aborted; attempt++) {
      await sleep(backoffMs(attempt, RETRY), signal).catch(() => {})
      if (signal.aborted || !(await upstream.connects())) continue
      upstream.isOut = false
      return
    }
  }
}

function sentBy(via: Via | undefined, message: UpstreamMessage): UpstreamMessage {
  return via === undefined ? message : { ...message, headers: [...message.headers, VIA_HEADER, via.header] }
}

function isBetter(one: Upstream, other: Upstream): boolean {
  return one.isOut === other.isOut ? one.inFlight < other.inFlight : other.isOut
}

/** The raw headers of undici's controller, which would keep them while the response lasts, perhaps for hours. */
interface KeptHeaders {
  rawHeaders?: unknown
}

/** One request. It goes to another address if connecting fails. */
export class UpstreamRequest implements Dispatcher.DispatchHandler {
  #upstream: Upstream
  readonly #message: UpstreamMessage
  readonly #receiver: AnswerReceiver
  readonly #others: Upstreams | undefined
  #controller: Dispatcher.DispatchController | undefined
  /** The addresses that could not be reached. */
  #tried: Set<Upstream> | undefined
  #wasSent = false
  #isOver = false

  /** `others`: the addresses to choose from if connecting fails. */
  constructor(upstream: Upstream, message: UpstreamMessage, receiver: AnswerReceiver, others?: Upstreams) {
    this.#upstream = upstream
    this.#message = message
    this.#receiver = receiver
    this.#others = others
  }

  start(): void {
    this.#upstream.inFlight++
    this.#upstream.dispatch(this.#message, this)
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  /** Cancels the request. The receiver gets nothing more. */
  cancel(): void {
    if (this.#isOver) return
    this.#over()
    this.#controller?.abort(new Error('The request was cancelled.'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) return controller.abort(new Error('The request was cancelled.'))
    this.#wasSent = true
  }

  onResponseStart(controller: KeptHeaders, status: number, headers: IncomingHttpHeaders): void {
    controller.rawHeaders = null
    if (status >= 200 && !this.#isOver) this.#receiver.begin(status, headers)
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (!this.#isOver) this.#receiver.data(chunk)
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    this.#over()
    this.#receiver.end()
  }

  onResponseError(_: unknown, error: Error): void {
    if (this.#isOver) return
    const next = this.#wasSent ? undefined : this.#another()
    this.#over()
    if (next === undefined) return this.#receiver.fail(error, this.#wasSent)
    this.#isOver = false
    this.#upstream = next
    this.start()
  }

  #another(): Upstream | undefined {
    if (this.#others === undefined) return undefined
    this.#others.leaveOut(this.#upstream)
    this.#tried ??= new Set()
    this.#tried.add(this.#upstream)
    return this.#others.pick(this.#tried)
  }

  #over(): void {
    this.#isOver = true
    this.#upstream.inFlight--
  }
}
