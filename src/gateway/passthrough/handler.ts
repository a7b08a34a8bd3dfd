/**
 * The route of one server, `/mcp/NAME`. Requests of the stateless era that the endpoint has admitted by their headers
 * pass through as bytes to a server of that era, if no rule needs their contents. All others go to the inner handler,
 * which parses them.
 */
import type { Admission, EndpointRequest, HostSink, HttpReply, RequestHandler } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { Deadlines } from './deadlines.ts'
import { claimsToListen, mayPass, passthroughTo } from './eligibility.ts'
import type { PassthroughRequest } from './request.ts'
import { PassthroughCall, type PassthroughOptions } from './call.ts'

class OpenStreams {
  readonly #open = new Set<PassthroughRequest>()

  add(request: PassthroughRequest): void {
    this.#open.add(request)
  }

  remove(request: PassthroughRequest): void {
    this.#open.delete(request)
  }

  close(): void {
    for (const request of this.#open) request.close()
  }
}

export class PassthroughHandler implements RequestHandler {
  readonly #options: PassthroughOptions
  /** Streams that stay open until the caller disconnects or the gateway stops. */
  readonly #listening = new OpenStreams()
  readonly #deadlines = new WeakMap<Backend, Deadlines>()

  constructor(options: PassthroughOptions) {
    this.#options = options
  }

  handle(request: EndpointRequest, admission: Admission, sink: HostSink): Promise<HttpReply | undefined> {
    const backend = admission.era === 'modern' ? this.#options.backend() : undefined
    const upstreams = backend && passthroughTo(backend)
    if (backend === undefined || upstreams === undefined || !mayPass(request, this.#options.limits))
      return this.#options.inner.handle(request, admission, sink)
    const isListening = claimsToListen(request)
    const under = isListening ? this.#listening : this.#deadlinesOf(backend)
    return new PassthroughCall(this.#options, {
      request,
      admission,
      sink,
      backend,
      upstreams,
      isListening,
      under,
    }).run()
  }

  /** Ends the long-lived streams. */
  close(): void {
    this.#listening.close()
  }

  #deadlinesOf(backend: Backend): Deadlines {
    let found = this.#deadlines.get(backend)
    if (found === undefined) {
      found = new Deadlines(backend.config.settings.timeoutSeconds * 1000)
      this.#deadlines.set(backend, found)
    }
    return found
  }
}
