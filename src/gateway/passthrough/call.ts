/**
 * One admitted request on its way to a server: its body is read, it is counted, it is sent, and what became of it is told.
 * This is done for each request that passes, so it is one object, which waits only where there is something to wait for.
 */
import { idOf, isObject, parseJson } from '../../protocol/index.ts'
import {
  type Admission,
  type Assembly,
  type EndpointRequest,
  errorMessage,
  errorReply,
  type HostSink,
  type HttpReply,
  type RequestHandler,
  toWireError,
} from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { holderByHeaders } from '../backends/callers.ts'
import { BackendError, isBackendGone } from '../errors.ts'
import { type CallRecorderOptions, codeOf, outcomeOf } from '../telemetry/calls.ts'
import { type PassthroughRecord, recordPassthrough } from '../telemetry/passthrough.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { LISTEN } from './eligibility.ts'
import { requestHeadersOf } from './headers.ts'
import { type PassthroughOutcome, type PassthroughOwner, PassthroughRequest } from './request.ts'

export interface PassthroughOptions extends Pick<Assembly, 'load' | 'limits'>, CallRecorderOptions {
  /** Reads requests that cannot pass. */
  readonly inner: RequestHandler
  /** The server of this address. */
  readonly backend: () => Backend | undefined
  /** Where a fault of the gateway itself is told. */
  readonly faults: Assembly['logger']
}

/** A request that may pass, and where. */
export interface Admitted {
  readonly request: EndpointRequest
  readonly admission: Admission
  readonly sink: HostSink
  readonly backend: Backend
  readonly upstreams: Upstreams
  /** Whether it claims to ask for a stream that stays open. */
  readonly isListening: boolean
  /** Who ends it, if nobody else does. */
  readonly under: RequestWarden
}

/** Ends requests: at their time, or when the gateway stops. */
interface RequestWarden {
  add(request: PassthroughRequest): void
  remove(request: PassthroughRequest): void
}

type Resolve = (reply: HttpReply | undefined | Promise<HttpReply | undefined>) => void

const NOTHING = Buffer.alloc(0)

export class PassthroughCall implements PassthroughOwner {
  readonly #handler: PassthroughOptions
  readonly #admitted: Admitted
  #resolve: Resolve | undefined
  #body: Buffer | undefined
  #passthrough: PassthroughRequest | undefined
  /** Undefined while it is not known that it goes to the server. */
  #startedAt: number | undefined
  /** Ends that it counts: among the requests of its caller, and among those of the server. */
  #leaveLimits: (() => void) | undefined
  #leaveBackend: (() => void) | undefined

  constructor(handler: PassthroughOptions, admitted: Admitted) {
    this.#handler = handler
    this.#admitted = admitted
  }

  /** Gives the reply, or undefined when the answer went by the sink. Never rejects. */
  run(): Promise<HttpReply | undefined> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#admitted.request.whole().then(
        (body) => this.#take(body),
        (error: unknown) => this.#refuse(error),
      )
    })
  }

  #take(body: Buffer): void {
    const { request, admission, sink, isListening } = this.#admitted
    const { inner, limits } = this.#handler
    this.#body = body
    if (mayHoldState(body) || (isListening && !isListen(body)))
      return this.#resolve?.(inner.handle(request, admission, sink))
    if (limits === undefined) return this.#authorize()
    limits.enterUnread(admission.principal, sink.address).then(
      (leave) => {
        this.#leaveLimits = leave
        this.#authorize()
      },
      (error: unknown) => this.#refuse(error),
    )
  }

  #authorize(): void {
    this.#startedAt = performance.now()
    const { request, admission, backend } = this.#admitted
    const { principal } = admission
    const own = backend.credentials.headersFor({ principal, authorization: request.header('authorization') })
    if (!(own instanceof Promise)) return this.#send(own)
    own.then(
      (headers) => this.#send(headers),
      (error: unknown) => this.#refuse(error),
    )
  }

  #send(own: Readonly<Record<string, string>> | undefined): void {
    try {
      this.#passthrough = this.#begin(requestHeadersOf(this.#admitted.request.rawHeaders, own))
      this.#admitted.under.add(this.#passthrough)
      this.#passthrough.run()
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** Counts the request, or throws where there are too many. */
  #begin(headers: string[]): PassthroughRequest {
    const { admission, sink, backend, upstreams, isListening } = this.#admitted
    const { timeoutSeconds, maxResultBytes } = backend.config.settings
    this.#leaveBackend = backend.limits.enter(holderByHeaders(admission.principal, sink.address), isListening)
    if (!isListening) this.#handler.load.enter() // streams that stay open do not count as load
    return new PassthroughRequest({
      server: backend.name,
      upstreams,
      headers,
      body: this.#body ?? NOTHING,
      sink,
      timeoutMs: timeoutSeconds * 1000,
      maxResultBytes,
      owner: this,
    })
  }

  ended(end: PassthroughOutcome, reply: HttpReply | undefined): void {
    this.#leave()
    this.#resolve?.(reply)
    // Nothing else tells that a server to which nothing stays open is gone.
    if (isBackendGone(end.error)) this.#admitted.backend.refreshLists()
    this.#tell(endOf(end))
  }

  #refuse(error: unknown): void {
    const id = this.#body && idOf(parseJson(this.#body.toString()))
    this.#leave()
    if (error instanceof BackendError) this.#resolve?.({ status: 200, body: errorMessage(id, toWireError(error)) })
    else this.#resolve?.(errorReply(error, this.#handler.faults.current, id))
    this.#tell({ outcome: outcomeOf(error), error: codeOf(error) })
  }

  #tell(end: Pick<PassthroughRecord, 'outcome' | 'error'>): void {
    if (this.#startedAt === undefined) return
    const { request, admission, backend } = this.#admitted
    const { principal } = admission
    recordPassthrough(this.#handler, { backend, header: request.header, principal, ...end, startedAt: this.#startedAt })
  }

  #leave(): void {
    const { isListening, under } = this.#admitted
    if (this.#passthrough !== undefined) under.remove(this.#passthrough)
    if (this.#leaveBackend !== undefined) {
      this.#leaveBackend()
      this.#leaveBackend = undefined
      if (!isListening) this.#handler.load.leave()
    }
    this.#leaveLimits?.()
  }
}

/** A claim to listen is compared, because a stream that stays open has no time limit and is not counted as load. */
function isListen(body: Buffer): boolean {
  const message = parseJson(body.toString())
  return isObject(message) && message['method'] === LISTEN && idOf(message) !== undefined
}

function endOf({ status, error }: PassthroughOutcome): Pick<PassthroughRecord, 'outcome' | 'error'> {
  if (error !== undefined) return { outcome: outcomeOf(error), error: error.reason }
  if (status === undefined) return { outcome: 'cancelled', error: undefined }
  if (status < 400) return { outcome: 'complete', error: undefined }
  return { outcome: status < 500 ? 'refused' : 'failed', error: String(status) }
}

/**
 * What a client keeps for servers is named by server at the gateway, and a server must not see that of another. A client
 * declares that it keeps something, and sends it, in the body; whatever looks like that is read.
 */
const STATE_SIGNS = ['"state"', 'client-state', 'modelcontextprotocol.io'].map((sign) => Buffer.from(sign))
/** What all of them come with, so that most bodies are searched once. */
const COMMON_SIGN = Buffer.from('state')

function mayHoldState(body: Buffer): boolean {
  return body.includes(COMMON_SIGN) && STATE_SIGNS.some((sign) => body.includes(sign))
}
