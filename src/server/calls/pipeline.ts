/** Answers calls, whatever host they came by: finds the method, runs it, and writes the response. */
import {
  isObject,
  type Json,
  MAX_NAME_CHARS,
  MAX_URI_CHARS,
  META,
  MODERN_VERSION,
  ProtocolError,
} from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import { type SessionDeclaration, serverCapabilities } from '../catalog/capabilities.ts'
import type { Call, CallAnswer, CallHandler, CallMethod } from '../call.ts'
import { AuthError, LimitError } from '../errors.ts'
import { errorDetails, type Logger, shortened } from '../logger.ts'
import type { Lists, Listing } from '../catalog/lists.ts'
import type { RequestLimits } from '../limits/requestLimits.ts'
import type { Load } from '../lifecycle/load.ts'
import type { Caching, ServerIdentity } from '../options.ts'
import type { Registry } from '../catalog/registry.ts'
import { errorMessage, type Results, resultMessage } from '../results.ts'
import { callTool, type CallToolOptions } from './callTool.ts'
import { complete } from './complete.ts'
import { getPrompt } from './getPrompt.ts'
import { readResource } from './readResource.ts'
import type { ResultHooks } from './resultHooks.ts'
import type { Subscriptions } from '../modern/subscriptions.ts'
import type { TaskService } from '../taskPort.ts'
import type { RequestSpan } from '../telemetry/requestSpan.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { isExpected, toWireError } from '../wireErrors.ts'

export interface PipelineOptions {
  readonly registry: Registry
  readonly lists: Lists
  readonly results: Results
  readonly hooks: ResultHooks
  readonly subscriptions: Subscriptions
  readonly load: Load
  /** Absent if callers have no limits. */
  readonly limits: RequestLimits | undefined
  /** Absent if the server leaves it out. */
  readonly telemetry: Telemetry | undefined
  readonly tasks: TaskService | undefined
  readonly caching: Required<Caching>
  readonly instructions: () => string | undefined
  readonly identity: ServerIdentity
  readonly declaration: SessionDeclaration
  readonly logger: () => Logger
  readonly handlers: HandlerMethods
  /** Resolves when the lists are known. Absent if they are known from the start. */
  readonly ready?: (() => Promise<void> | undefined) | undefined
  /** The lists of a caller, if they differ from the common lists. */
  readonly ownLists?: ((call: Call) => Promise<CallerLists | undefined> | undefined) | undefined
  /** The methods that only sessions have. Absent if the session era is not served. */
  readonly sessionMethods: ReadonlyMap<string, CallMethod> | undefined
}

/** Gives pages of lists. */
export type CallerLists = Pick<Lists, 'page'>

/** The methods that run handlers. */
export interface HandlerMethods {
  readonly callTool: CallMethod
  readonly getPrompt: CallMethod
  readonly readResource: CallMethod
  readonly complete: CallMethod
}

/** The methods of a server that runs its handlers itself. */
export function ownHandlers(options: CallToolOptions): HandlerMethods {
  const { registry, rounds, access, results } = options
  return {
    callTool: callTool(options),
    getPrompt: getPrompt(registry, rounds, access),
    readResource: readResource(registry, rounds, access),
    complete: complete(registry, results, access),
  }
}

export class Pipeline implements CallHandler {
  readonly #options: PipelineOptions

  constructor(options: PipelineOptions) {
    this.#options = options
  }

  /** Never rejects: errors become answers. */
  answer(call: Call): CallAnswer | Promise<CallAnswer> {
    const waiting = this.#options.ready?.()
    return waiting === undefined ? this.#answer(call) : waiting.then(() => this.#answer(call))
  }

  /** Synchronous if the method is. */
  #answer(call: Call): CallAnswer | Promise<CallAnswer> {
    const { load, telemetry } = this.#options
    const counts = call.method !== 'subscriptions/listen' // subscriptions do not count as load
    if (counts) load.enter()
    const method = this.#method(call)
    const span = telemetry?.start(call, method !== undefined)
    const completed = (result: string): CallAnswer => {
      span?.end()
      if (counts) load.leave(call.channel)
      return { status: 200, body: resultMessage(call.id, result) }
    }
    const failed = (error: unknown): CallAnswer => {
      span?.fail(toWireError(error).code)
      if (counts) load.leave(call.channel)
      return this.#fail(call, error)
    }
    let result: string | Promise<string>
    try {
      result = this.#run(call, method, span)
    } catch (error) {
      return failed(error)
    }
    return result instanceof Promise ? result.then(completed, failed) : completed(result)
  }

  #run(call: Call, method: CallMethod | undefined, span: RequestSpan | undefined): string | Promise<string> {
    const { limits, declaration } = this.#options
    const run = (): string | Promise<string> => {
      declaration.assertServed(call)
      assertNamesFit(call.params)
      if (method === undefined)
        throw new ProtocolError('METHOD_UNKNOWN', `This server has no method "${shortened(call.method)}".`)
      return span === undefined ? method(call) : span.run(() => method({ ...call, observer: span }))
    }
    return limits?.areSet === true && !call.forwardedBy ? limited(limits, call, run) : run()
  }

  #fail(call: Call, error: unknown): CallAnswer {
    const wire = toWireError(error, call)
    const code = (error as { code?: unknown } | undefined)?.code
    const logger = this.#options.logger()
    const method = shortened(call.method)
    // The peer gets the same error for every bad state; the log has the reason.
    if (!isExpected(error))
      logger.error({ method, ...this.#entryOf(call), err: errorDetails(error) }, 'A request failed.')
    else if (error instanceof StateError) logger.warn({ method, code, why: error.message }, 'A state was refused.')
    else logger.debug({ method, code }, 'A request was refused.')
    // Of both eras: it is by the status that a client gets another token, or waits.
    const headers = refusalHeaders(error)
    if (headers !== undefined) return { status: wire.status, headers, body: errorMessage(call.id, wire) }
    // The session era answers errors with 200, except a mismatch of the stateless era's headers.
    const isPlain = call.peer.era === 'legacy' && code !== 'HEADER_MISMATCH'
    return { status: isPlain ? 200 : wire.status, body: errorMessage(call.id, wire) }
  }

  /** The author's name of the handler. Not the caller's address, which may contain secrets. */
  #entryOf({ method, params: { name, uri } }: Call): Json {
    const { registry } = this.#options
    if (method === 'prompts/get' && typeof name === 'string') return { prompt: shortened(name) }
    if (method !== 'resources/read' || typeof uri !== 'string') return {}
    const found = registry.findResource(uri)
    return found === undefined ? {} : { resource: found.entry.listed['uri'] ?? found.entry.listed['uriTemplate'] }
  }

  #method(call: Call): CallMethod | undefined {
    const { method, peer } = call
    const found =
      this.#shared(method) ?? (peer.era === 'modern' ? this.#modern(method) : this.#options.sessionMethods?.get(method))
    const { hooks, tasks } = this.#options
    if (found === undefined) return tasks?.method(call)
    return hooks.isEmpty ? found : hooks.hooked(method, found)
  }

  #shared(method: string): CallMethod | undefined {
    const { registry, handlers } = this.#options
    switch (method) {
      case 'tools/call':
        return registry.hasTools ? handlers.callTool : undefined
      case 'tools/list':
        return registry.hasTools ? this.#list('tools') : undefined
      case 'prompts/get':
        return registry.hasPrompts ? handlers.getPrompt : undefined
      case 'prompts/list':
        return registry.hasPrompts ? this.#list('prompts') : undefined
      case 'resources/read':
        return registry.hasResources ? handlers.readResource : undefined
      case 'resources/list':
        return registry.hasResources ? this.#list('resources') : undefined
      case 'resources/templates/list':
        return registry.hasResources ? this.#list('resourceTemplates') : undefined
      case 'completion/complete':
        return registry.hasCompletions ? handlers.complete : undefined
      default:
        return undefined
    }
  }

  #modern(method: string): CallMethod | undefined {
    switch (method) {
      case 'server/discover':
        return (call) => this.#options.results.complete(this.#discovered(), call.peer)
      case 'subscriptions/listen':
        return (call) => this.#options.subscriptions.listen(call)
      default:
        return undefined
    }
  }

  #list(listing: Listing): CallMethod {
    const { lists, ownLists } = this.#options
    const page = (call: Call, from: CallerLists): string => from.page(listing, call.params['cursor'], call)
    return (call) => ownLists?.(call)?.then((own = lists) => page(call, own)) ?? page(call, lists)
  }

  #discovered(): Json {
    const { registry, caching, tasks, identity, declaration } = this.#options
    const instructions = this.#options.instructions()
    return {
      supportedVersions: [MODERN_VERSION], // requests of the session revisions have no `_meta` with a version
      capabilities: serverCapabilities(registry, {
        ...tasks?.capabilities('modern'),
        ...declaration.capabilities('modern'),
      }),
      ...(instructions !== undefined && { instructions }),
      ...caching,
      _meta: { [META.server]: declaration.serverInfo(identity) },
    }
  }
}

/** Runs a call within the limits of its caller. */
async function limited(limits: RequestLimits, call: Call, run: () => string | Promise<string>): Promise<string> {
  const leave = await limits.enter(call)
  try {
    return await run()
  } finally {
    leave()
  }
}

/** Far longer than any name is. Such names are looked up, compared, logged and forwarded. */
const NAME_LIMITS = Object.entries({ name: MAX_NAME_CHARS, uri: MAX_URI_CHARS, taskId: 4096, cursor: 4096 })

function assertNamesFit(params: Json): void {
  const { ref } = params
  for (const [field, most] of NAME_LIMITS) {
    assertFits(params[field], most, `params.${field}`)
    if (isObject(ref)) assertFits(ref[field], most, `params.ref.${field}`)
  }
}

function assertFits(value: unknown, most: number, field: string): void {
  if (typeof value === 'string' && value.length > most)
    throw new ProtocolError('PARAMS_INVALID', `"${field}" has more than ${most} characters.`)
}

/** The headers for a caller who was refused; undefined if it is not the caller. */
function refusalHeaders(error: unknown): Readonly<Record<string, string>> | undefined {
  if (error instanceof LimitError) return { 'retry-after': String(error.retryAfterSeconds) }
  if (!(error instanceof AuthError)) return undefined
  return error.challenge === undefined ? {} : { 'www-authenticate': error.challenge }
}
