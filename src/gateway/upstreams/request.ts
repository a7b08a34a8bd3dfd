/** One request to a server over HTTP, at the address it was sent to. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'

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

/** One address of a server. */
export interface UpstreamTarget {
  /** The number of requests in flight. */
  inFlight: number
  dispatch(message: UpstreamMessage, handler: Dispatcher.DispatchHandler): void
}

/** The addresses of a server. */
export interface UpstreamChoice {
  /** The best address that was not tried. */
  pick(tried?: ReadonlySet<UpstreamTarget>): UpstreamTarget | undefined
  /** Leaves out an address to which connecting failed. */
  leaveOut(target: UpstreamTarget): void
}

/** The controller keeps the bytes of the headers for as long as the response lasts, which may be hours. */
interface KeptHeaders {
  rawHeaders?: unknown
}

export class UpstreamRequest implements Dispatcher.DispatchHandler {
  readonly #choice: UpstreamChoice
  readonly #message: UpstreamMessage
  readonly #receiver: AnswerReceiver
  #upstream: UpstreamTarget | undefined
  #controller: Dispatcher.DispatchController | undefined
  /** The addresses that could not be reached. */
  #tried: Set<UpstreamTarget> | undefined
  #wasSent = false
  #isOver = false

  constructor(choice: UpstreamChoice, message: UpstreamMessage, receiver: AnswerReceiver) {
    this.#choice = choice
    this.#message = message
    this.#receiver = receiver
  }

  start(): void {
    this.#dispatch(this.#choice.pick())
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
    this.#dispatch(next)
  }

  #dispatch(upstream: UpstreamTarget | undefined): void {
    if (upstream === undefined) throw new TypeError('A server has no address.')
    this.#upstream = upstream
    upstream.inFlight++
    upstream.dispatch(this.#message, this)
  }

  #another(): UpstreamTarget | undefined {
    const failed = this.#upstream
    if (failed === undefined) return undefined
    this.#choice.leaveOut(failed)
    this.#tried ??= new Set()
    this.#tried.add(failed)
    return this.#choice.pick(this.#tried)
  }

  #over(): void {
    this.#isOver = true
    if (this.#upstream !== undefined) this.#upstream.inFlight--
  }
}
