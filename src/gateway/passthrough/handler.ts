/**
 * The route of one server, `/mcp/NAME`. Requests of the stateless era that the endpoint has admitted by their headers
 * pass through as bytes to a server of that era, if no rule and no audit log needs their contents. All others go to the inner handler,
 * which parses them.
 */
import { isObject, TASKS_EXTENSION } from '../../protocol/index.ts'
import type {
  Admission,
  Assembly,
  EndpointRequest,
  HostSink,
  HttpReply,
  RequestHandler,
} from '../../server/internal.ts'
import { CONTINUE_TOOL } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import type { BackendSettings } from '../config/index.ts'
import type { About } from '../links/link.ts'
import { isTraced } from '../telemetry/tracing.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { LISTEN, PassthroughCall, type PassthroughOptions } from './call.ts'
import { Deadlines } from './deadlines.ts'
import type { PassthroughRequest } from './request.ts'

export class PassthroughHandler implements RequestHandler {
  readonly #options: PassthroughOptions
  /** Streams that stay open until the caller disconnects or the gateway stops. */
  readonly #listening = new Set<PassthroughRequest>()
  readonly #deadlines = new WeakMap<Backend, Deadlines>()

  constructor(options: PassthroughOptions) {
    this.#options = options
  }

  handle(request: EndpointRequest, admission: Admission, sink: HostSink): Promise<HttpReply | undefined> {
    const backend = admission.era === 'modern' ? this.#options.backend() : undefined
    const upstreams = backend && passthroughTo(backend)
    const { limits, rules, audit, readsAskless } = this.#options
    if (
      backend === undefined ||
      upstreams === undefined ||
      !mayPass(request, limits) ||
      audit !== undefined ||
      (readsAskless && isOwnTool(request)) ||
      !rules.arePassed(admission.principal, backend)
    )
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
    for (const request of this.#listening) request.close()
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

/**
 * The addresses for passthrough. It needs a stateless server of the stateless era over HTTP, all of whose tools are
 * served; without tasks, whose ids belong to callers, and without a login, which may have to be renewed in between.
 */
function passthroughTo(backend: Backend): Upstreams | undefined {
  const { connector, upstreams, isShared, mayBeRejected, config } = backend
  const { link } = connector
  if (upstreams === undefined || !link?.isDirect || hasTasks(link.about)) return undefined
  return isShared && !mayBeRejected && servesEverything(config.settings) ? upstreams : undefined
}

/**
 * Listening does not count as a call, so a claim to listen is verified if calls are counted. A request that gets the
 * gateway's span is parsed as well.
 */
function mayPass(request: EndpointRequest, limits: Assembly['limits']): boolean {
  const isRead = isTraced() || (limits?.countsCalls === true && claimsToListen(request))
  return request.method === 'POST' && request.hasBytes && !isRead
}

/** Whether the request is about the tool that continues calls, which the gateway adds to those of its servers. */
function isOwnTool({ header }: EndpointRequest): boolean {
  return header('mcp-method') === 'tools/list' || header('mcp-name') === CONTINUE_TOOL
}

function claimsToListen({ header }: EndpointRequest): boolean {
  return header('mcp-method') === LISTEN
}

function servesEverything({ definitions, tools }: BackendSettings): boolean {
  return definitions === 'warn' && tools.deny.length === 0 && tools.allow.includes('*')
}

function hasTasks({ capabilities }: About): boolean {
  const { tasks, extensions } = capabilities
  return tasks !== undefined || (isObject(extensions) && extensions[TASKS_EXTENSION] !== undefined)
}
