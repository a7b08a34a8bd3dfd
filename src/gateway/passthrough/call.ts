/**
 * One admitted request on its way to a server: reads its body, counts it, sends it and records it. This runs for each
 * request passed through, so it is one object that awaits only if it must.
 */
import { idOf, isObject } from '../../protocol/index.ts'
import {
  type Admission,
  type Assembly,
  type EndpointRequest,
  errorReply,
  type HostSink,
  type HttpReply,
  type RequestHandler,
} from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { quotaCallerByHeaders } from '../links/callers.ts'
import { BackendError, isBackendGone } from '../errors.ts'
import {
  type CallRecorderOptions,
  codeOf,
  outcomeOf,
  type PassthroughRecord,
  recordPassthrough,
} from '../telemetry/calls.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { requestHeadersOf } from './headers.ts'
import { errorTo, messageIn, type PassthroughOutcome, type PassthroughOwner, PassthroughRequest } from './request.ts'

export interface PassthroughOptions extends Pick<Assembly, 'load' | 'limits'>, CallRecorderOptions {
  /** Handles requests that cannot be passed through. */
  readonly inner: RequestHandler
  readonly backend: () => Backend | undefined
  /** Whether no rule needs the contents of a caller's requests. */
  readonly rules: { arePassed(caller: Admission['principal'], backend: Backend): boolean }
  /** Whether calls of clients that cannot be asked are read, because people answer their questions elsewhere. */
  readonly readsAskless: boolean
  /** The log for faults of the gateway itself. */
  readonly faults: Assembly['logger']
}

/** A request that may be passed through, and its server. */
export interface Admitted {
  readonly request: EndpointRequest
  readonly admission: Admission
  readonly sink: HostSink
  readonly backend: Backend
  readonly upstreams: Upstreams
  /** Whether it claims to open a long-lived stream. */
  readonly isListening: boolean
  /** Aborts it on a timeout, or when the gateway stops. */
  readonly under: RequestWarden
}

/** Aborts requests on a timeout, or when the gateway stops. */
interface RequestWarden {
  add(request: PassthroughRequest): unknown
  delete(request: PassthroughRequest): unknown
}

type Resolve = (reply: HttpReply | undefined | Promise<HttpReply | undefined>) => void

/** The method whose answer is a long-lived stream. */
export const LISTEN = 'subscriptions/listen'
const NOTHING = Buffer.alloc(0)

export class PassthroughCall implements PassthroughOwner {
  readonly #handler: PassthroughOptions
  readonly #admitted: Admitted
  #resolve: Resolve | undefined
  #body: Buffer | undefined
  #passthrough: PassthroughRequest | undefined
  /** Undefined until the request is sent to the server. */
  #startedAt: number | undefined
  /** Releases its places in the quotas of its caller and of the server. */
  #leaveLimits: (() => void) | undefined
  #leaveBackend: (() => void) | undefined

  constructor(handler: PassthroughOptions, admitted: Admitted) {
    this.#handler = handler
    this.#admitted = admitted
  }

  /** Returns the reply, or undefined when the answer went through the sink. Never rejects. */
  run(): Promise<HttpReply | undefined> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#admitted.request.whole().then(
        (body) => this.#take(Buffer.from(body.buffer, body.byteOffset, body.byteLength)),
        (error: unknown) => this.#refuse(error),
      )
    })
  }

  #take(body: Buffer): void {
    const { request, admission, sink, isListening } = this.#admitted
    const { inner, limits } = this.#handler
    this.#body = body
    if (!isOneObject(body) || mayHoldState(body) || this.#isAskless(body) || (isListening && !isListen(body)))
      return this.#resolve?.(inner.handle(request, admission, sink))
    if (limits?.areSet !== true) return this.#authorize()
    limits.enterUnread(admission.principal, sink.address).then(
      (leave) => {
        this.#leaveLimits = leave
        this.#authorize()
      },
      (error: unknown) => this.#refuse(error),
    )
  }

  /** Whether it is a call of a client that declares no forms. */
  #isAskless(body: Buffer): boolean {
    const { readsAskless } = this.#handler
    return readsAskless && this.#admitted.request.header('mcp-method') === 'tools/call' && !body.includes(DECLARED)
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

  /** Counts the request; throws at the limit. */
  #begin(headers: string[]): PassthroughRequest {
    const { admission, sink, backend, upstreams, isListening } = this.#admitted
    const { timeoutSeconds, maxResultBytes } = backend.config.settings
    this.#leaveBackend = backend.limits.enter(quotaCallerByHeaders(admission.principal, sink.address), isListening)
    if (!isListening) this.#handler.load.enter() // long-lived streams do not count as load
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
    // Reading the lists shows whether a server without an open connection is gone.
    if (isBackendGone(end.error)) this.#admitted.backend.connector.refreshLists()
    this.#tell(endOf(end))
  }

  #refuse(error: unknown): void {
    const body = this.#body ?? NOTHING
    this.#leave()
    if (error instanceof BackendError) this.#resolve?.({ status: 200, body: errorTo(body, error) })
    else this.#resolve?.(errorReply(error, this.#handler.faults.current, idOf(messageIn(body))))
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
    if (this.#passthrough !== undefined) under.delete(this.#passthrough)
    if (this.#leaveBackend !== undefined) {
      this.#leaveBackend()
      this.#leaveBackend = undefined
      if (!isListening) this.#handler.load.leave()
    }
    this.#leaveLimits?.()
  }
}

/** How clients declare that they can be asked, in the envelope of each request. */
const DECLARED = Buffer.from('"elicitation"')

const BLANKS: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d])
const OPEN_OBJECT = 0x7b

/** Whether the body is not a batch, which would be counted and logged as one request. This revision has no batches. */
function isOneObject(body: Buffer): boolean {
  let at = 0
  while (BLANKS.has(body[at])) at++
  return body[at] === OPEN_OBJECT
}

/** Verifies a claim to listen, because a long-lived stream has no timeout and does not count as load. */
function isListen(body: Buffer): boolean {
  const message = messageIn(body)
  return isObject(message) && message['method'] === LISTEN && idOf(message) !== undefined
}

function endOf({ status, error }: PassthroughOutcome): Pick<PassthroughRecord, 'outcome' | 'error'> {
  if (error !== undefined) return { outcome: outcomeOf(error), error: error.reason }
  if (status === undefined) return { outcome: 'cancelled', error: undefined }
  if (status < 400) return { outcome: 'complete', error: undefined }
  return { outcome: status < 500 ? 'refused' : 'failed', error: String(status) }
}

/**
 * Signs of client-side state in a body. The gateway prefixes its names by server, and a server must not see the state
 * of another, so a body that may contain state is parsed.
 */
const STATE_SIGNS = ['"state"', 'client-state', 'modelcontextprotocol.io'].map((sign) => Buffer.from(sign))
/** A substring of each sign, so that most bodies are searched only once. */
const COMMON_SIGN = Buffer.from('state')

function mayHoldState(body: Buffer): boolean {
  return body.includes(COMMON_SIGN) && STATE_SIGNS.some((sign) => body.includes(sign))
}
