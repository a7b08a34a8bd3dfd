/**
 * The address of one server, `/mcp/NAME`, where what can pass as bytes does: requests of the stateless era that the
 * endpoint has admitted by their headers, for a server of that era, where no rule needs what is in them. All others go to
 * the handler behind, which reads them.
 */
import {
  type Admission,
  type Assembly,
  type EndpointRequest,
  errorMessage,
  errorReply,
  type HostSink,
  type HttpReply,
  type LoggerSlot,
  type RequestHandler,
  toWireError,
} from '../../server/internal.ts'
import { idOf, isObject, parseJson } from '../../protocol/index.ts'
import type { Backend } from '../backends/backend.ts'
import { holderByHeaders } from '../backends/callers.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { passageTo } from './passage.ts'
import { BackendError, isBackendGone } from '../errors.ts'
import { Deadlines } from './deadlines.ts'
import { requestHeadersOf } from './headers.ts'
import type { CallWatcherOptions } from '../telemetry/calls.ts'
import { type PassedCall, tellPassed } from '../telemetry/passed.ts'
import { isTraced } from '../telemetry/tracing.ts'
import { type PassedOutcome, PassedRequest } from './passedRequest.ts'

export interface PassingOptions extends Pick<Assembly, 'load' | 'limits'>, CallWatcherOptions {
  /** Reads requests that cannot pass. */
  readonly inner: RequestHandler
  /** The server of this address. */
  readonly backend: () => Backend | undefined
  /** Where a fault of the gateway itself is told. */
  readonly faults: LoggerSlot
}

interface Admitted {
  readonly request: EndpointRequest
  readonly admission: Admission
  readonly sink: HostSink
}

/** A request that may pass, and where. */
interface MessageToPass {
  readonly backend: Backend
  readonly upstreams: Upstreams
  readonly headers: string[]
  readonly body: Buffer
}

class OpenStreams {
  readonly #open = new Set<PassedRequest>()

  add(passed: PassedRequest): void {
    this.#open.add(passed)
  }

  remove(passed: PassedRequest): void {
    this.#open.delete(passed)
  }

  close(): void {
    for (const passed of this.#open) passed.close()
  }
}

const LISTEN = 'subscriptions/listen'

export class PassingHandler implements RequestHandler {
  readonly #options: PassingOptions
  /** Streams that stay open until the caller leaves, or the gateway stops. */
  readonly #listening = new OpenStreams()
  readonly #deadlines = new WeakMap<Backend, Deadlines>()

  constructor(options: PassingOptions) {
    this.#options = options
  }

  handle(request: EndpointRequest, admission: Admission, sink: HostSink): Promise<HttpReply | undefined> {
    const backend = admission.era === 'modern' ? this.#options.backend() : undefined
    const upstreams = backend && passageTo(backend)
    if (backend === undefined || upstreams === undefined || !this.#mayPass(request))
      return this.#options.inner.handle(request, admission, sink)
    return this.#pass({ request, admission, sink }, backend, upstreams)
  }

  /** Ends the streams that would stay open. */
  close(): void {
    this.#listening.close()
  }

  /**
   * Who claims to listen is not counted among the calls, so where calls are counted this has to be read. So has what the
   * gateway adds its own span to.
   */
  #mayPass(request: EndpointRequest): boolean {
    const { limits } = this.#options
    const isRead = isTraced() || (limits?.countsCalls === true && claimsToListen(request))
    return request.method === 'POST' && request.hasBytes && !isRead
  }

  /** Never rejects. */
  async #pass(admitted: Admitted, backend: Backend, upstreams: Upstreams): Promise<HttpReply | undefined> {
    const { request, admission, sink } = admitted
    const { inner, limits, faults } = this.#options
    let body: Buffer | undefined
    let leave: (() => void) | undefined
    try {
      body = await request.whole()
      if (mayHoldState(body) || (claimsToListen(request) && !isListen(body)))
        return await inner.handle(request, admission, sink)
      if (limits !== undefined) leave = await limits.enterUnread(request.header, admission.principal, sink.address)
      const { principal } = admission
      const own = backend.credentials.headersFor({ principal, authorization: request.header('authorization') })
      const headers = requestHeadersOf(request.rawHeaders, own instanceof Promise ? await own : own)
      return await this.#send(admitted, { backend, upstreams, headers, body })
    } catch (error) {
      const id = body && idOf(parseJson(body.toString()))
      if (error instanceof BackendError) return { status: 200, body: errorMessage(id, toWireError(error)) }
      return errorReply(error, faults.current, id)
    } finally {
      leave?.()
    }
  }

  #send({ request, admission, sink }: Admitted, message: MessageToPass): Promise<HttpReply | undefined> {
    const { header } = request
    const { principal } = admission
    const { backend, upstreams, headers, body } = message
    const { timeoutSeconds, maxResultBytes } = backend.config.settings
    const timeoutMs = timeoutSeconds * 1000
    const isListening = claimsToListen(request)
    const leave = this.#enter(backend, holderByHeaders(principal, sink.address), isListening)
    const startedAt = performance.now()
    const onEnd = (outcome: PassedOutcome): void => {
      leave()
      under.remove(passed)
      // Nothing else tells that a server to which nothing stays open is gone.
      if (isBackendGone(outcome.error)) backend.reread()
      tellPassed(this.#options, { backend, header, principal, startedAt, ...outcomeOf(outcome) })
    }
    const under = isListening ? this.#listening : this.#deadlinesOf(backend, timeoutMs)
    const { name: server } = backend
    const passed = new PassedRequest({ server, upstreams, headers, body, sink, timeoutMs, maxResultBytes, onEnd })
    under.add(passed)
    return passed.run()
  }

  #deadlinesOf(backend: Backend, timeoutMs: number): Deadlines {
    let found = this.#deadlines.get(backend)
    if (found === undefined) {
      found = new Deadlines(timeoutMs)
      this.#deadlines.set(backend, found)
    }
    return found
  }

  /** Streams that stay open do not count as load. */
  #enter(backend: Backend, holder: string, isListening: boolean): () => void {
    const { load } = this.#options
    const leave = backend.enter(holder, isListening)
    if (isListening) return leave
    load.enter()
    return () => {
      leave()
      load.leave()
    }
  }
}

function claimsToListen({ header }: EndpointRequest): boolean {
  return header('mcp-method') === LISTEN
}

/** A claim to listen is compared, because a stream that stays open has no time limit and is not counted as load. */
function isListen(body: Buffer): boolean {
  const message = parseJson(body.toString())
  return isObject(message) && message['method'] === LISTEN && idOf(message) !== undefined
}

function outcomeOf({ status, error }: PassedOutcome): Pick<PassedCall, 'outcome' | 'error'> {
  if (error !== undefined)
    return { outcome: error.reason === 'BACKEND_REFUSED' ? 'refused' : 'failed', error: error.reason }
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
