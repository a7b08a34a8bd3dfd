/**
 * Records each call to a server: a line in the log, and a span. Never arguments, answers, addresses of resources or
 * messages of errors.
 */
import type { Attributes } from '@opentelemetry/api'
import {
  CODES,
  type HeaderReader,
  isObject,
  isServerError,
  type Json,
  type RequestId,
  remembered,
} from '../../protocol/index.ts'
import {
  type Call,
  type Logger,
  type Principal,
  principalDetails,
  shortened,
  toWireError,
} from '../../server/internal.ts'
import { backendCodeOf } from '../errors.ts'
import type { AuditAnswer, AuditApproval, AuditDecision, CallAudit } from './audit.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { CallOutcome, CallTarget } from './outcome.ts'
import { callerText, type RoundRecorder } from './recentCalls.ts'
import { type BackendSpan, startSpan, traceIdOf, type TraceFields } from './tracing.ts'

export interface CallRecorderOptions {
  /** The path of the route. */
  readonly route: string
  readonly logger: Logger | undefined
  readonly metrics: GatewayMetrics
  /** Absent if no audit log is kept. */
  readonly audit: CallAudit | undefined
}

const TOOL_ERROR = 'tool_error'
const REFUSALS: ReadonlySet<string> = new Set(['BACKEND_BUSY', 'BACKEND_REFUSED'])
/** The request id of a proxy in front of the gateway. */
const REQUEST_ID = /^[\w.:-]{1,100}$/

export class CallRecorder {
  readonly #options: CallRecorderOptions

  constructor(options: CallRecorderOptions) {
    this.#options = options
  }

  /** Runs a call, and records how it ended. `work` reports the result, `args` is what the server gets. */
  async record(
    call: Call,
    target: CallTarget,
    args: Json | undefined,
    work: (recorded: RecordedCall) => Promise<string>,
  ): Promise<string> {
    const { metrics, route } = this.#options
    const recorded = new RecordedCall(call, target, args, metrics.recent.begun(call, route, target, args))
    try {
      const answer = await recorded.span.run(() => work(recorded))
      this.#end(recorded, recorded.outcome, recorded.error, answer)
      return answer
    } catch (error) {
      const code = codeOf(error)
      this.#end(recorded, call.channel.cancelled ? 'cancelled' : outcomeOf(error), code)
      throw error
    }
  }

  /** Runs a round of a call that waits for an approval, or whose questions are answered elsewhere. */
  async hold(
    call: Call,
    target: CallTarget,
    args: Json,
    work: (round: RoundRecorder) => Promise<string>,
  ): Promise<string> {
    const { metrics, route } = this.#options
    const round = metrics.recent.begun(call, route, target, args)
    try {
      const answer = await work(round)
      const isAsked = answer.includes('"input_required"')
      round.end(isAsked ? 'asked' : 'complete', undefined, undefined, answer)
      return answer
    } catch (error) {
      round.end(outcomeOf(error), codeOf(error), undefined)
      throw error
    }
  }

  /** Records a call that a rule denied, or would have denied. */
  decided(call: Call, target: CallTarget, args: Json | undefined, by: AuditDecision): void {
    const { id, method, principal, header } = call
    const { logger, metrics, route, audit } = this.#options
    audit?.decided({ call, route, target, args }, by)
    const { server, name } = target
    const isDenied = by.isDenied
    if (isDenied) metrics.ended({ method, target, outcome: 'refused', seconds: 0 })
    const details = {
      server,
      ...(name !== undefined && { [method === 'prompts/get' ? 'prompt' : 'tool']: shortened(name) }),
      ...(isDenied && { outcome: 'refused', error: RULE_DENIED }),
      rule: by.rule,
      ...(by.failure !== undefined && { failure: by.failure }),
      method,
      route,
      id: typeof id === 'string' ? shortened(id) : id,
      ...requestIdIn(header),
      ...(principal && principalDetails(principal)),
    }
    if (by.failure === undefined) logger?.info(details, isDenied ? DENIED : WOULD_DENY)
    else logger?.warn(details, isDenied ? UNDECIDED : WOULD_DENY)
  }

  /** Records that a call waits for its approval. */
  waits(call: Call, target: CallTarget, args: Json, rule: string): void {
    const { route, audit } = this.#options
    audit?.waits({ call, route, target, args }, rule)
  }

  /** Records what was answered to a question of a call. */
  answered(call: Call, target: CallTarget, args: Json, answer: AuditAnswer | AuditApproval): void {
    const { route, audit } = this.#options
    audit?.answered({ call, route, target, args }, answer)
  }

  #end(
    { call, target, args, span, round, startedAt }: RecordedCall,
    outcome: CallOutcome,
    error: string | undefined,
    answer?: string,
  ): void {
    span.end(outcome === 'failed' ? (error ?? 'failed') : undefined)
    round.end(outcome, error, traceIdOf(span.fields), answer)
    if (call.forwardedBy) return // the gateway that the caller reached records the call
    const { id, method, principal, header } = call
    const { route, audit } = this.#options
    const ms = performance.now() - startedAt
    audit?.ended({ call, route, target, args, trace: span.fields }, { outcome, error, ms })
    report(this.#options, { id, method, target, outcome, error, startedAt, principal, header, trace: span.fields })
  }
}

const RULE_DENIED = 'RULE_DENIED'
const DENIED = 'A rule denied a call.'
const UNDECIDED = 'A rule could not be decided, so its call was denied.'
const WOULD_DENY = 'A rule in a dry run would not have let this call pass.'

/** One call in progress. */
export class RecordedCall {
  readonly call: Call
  readonly target: CallTarget
  readonly args: Json | undefined
  readonly span: BackendSpan
  readonly round: RoundRecorder
  readonly startedAt = performance.now()
  outcome: CallOutcome = 'complete'
  error: string | undefined
  /** Whether questions are asked on the stream of the call, so that one round holds them all. */
  isAskedInPlace = false

  constructor(call: Call, target: CallTarget, args: Json | undefined, round: RoundRecorder) {
    this.round = round
    this.call = call
    this.target = target
    this.args = args
    const { method } = call
    const { name } = target
    this.span = startSpan(call, name === undefined ? method : `${method} ${name}`, attributesOf(call, target))
  }

  get trace(): TraceFields {
    return this.span.fields
  }

  /** Notes a result or a question of the server. The last one counts. */
  result(result: Json): void {
    const isError = result['isError'] === true
    this.error = isError ? TOOL_ERROR : undefined
    if (this.isAskedInPlace && isObject(result['inputRequests'])) this.round.asked(result['inputRequests'])
    this.outcome = isError ? 'failed' : result['resultType'] === 'input_required' ? 'asked' : 'complete'
    if (isError) this.call.observer?.toolFailed()
  }

  asked(): void {
    this.outcome = 'asked'
  }
}

function attributesOf({ method }: Call, { server, name }: CallTarget): Attributes {
  return {
    'mcp.method.name': method,
    'pannier.gateway.server': server,
    ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
    ...(method === 'tools/call' && name !== undefined && { 'gen_ai.tool.name': name }),
    ...(method === 'prompts/get' && name !== undefined && { 'gen_ai.prompt.name': name }),
  }
}

/** The code of an error in the log. */
export function codeOf(error: unknown): string {
  const reason = backendCodeOf(error)
  if (reason !== undefined) return reason
  const { code } = error as { code?: unknown }
  return typeof code === 'number' || typeof code === 'string' ? String(code) : 'internal'
}

/** Errors of the server and of the gateway are failures; those of a caller are refusals. */
export function outcomeOf(error: unknown): CallOutcome {
  const reason = backendCodeOf(error)
  if (reason !== undefined) return REFUSALS.has(reason) ? 'refused' : 'failed'
  const { code } = toWireError(error)
  return code === CODES.INTERNAL_ERROR || isServerError(code) ? 'failed' : 'refused'
}

export interface PassthroughRecord {
  readonly backend: NamedLists
  readonly header: HeaderReader
  readonly principal: Principal | undefined
  readonly outcome: CallOutcome
  readonly error: string | undefined
  /** By `performance.now()`. */
  readonly startedAt: number
}

type ListedEntries = readonly Json[]

interface NamedLists {
  readonly name: string
  readonly lists: { readonly latest: { readonly tools: ListedEntries; readonly prompts: ListedEntries } }
}

/** The methods of passed-through requests that are recorded. */
const CALLS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read', 'completion/complete'])

/** Records a passed-through call by its headers. Its id is unknown, and so is whether a tool failed or asked. */
export function recordPassthrough(options: CallRecorderOptions, record: PassthroughRecord): void {
  const { backend, header, principal, outcome, error, startedAt } = record
  const method = header('mcp-method') ?? ''
  if (!CALLS.has(method)) return
  const traceparent = header('traceparent')
  const trace = traceparent === undefined ? {} : { traceparent }
  const target = targetOf(backend, method, header)
  report(options, { method, target, outcome, error, startedAt, principal, header, trace })
  const traceId = traceIdOf(trace)
  options.metrics.recent.passed({
    server: target.server,
    method,
    route: options.route,
    ms: Math.round((performance.now() - startedAt) * 10) / 10,
    outcome,
    ...(target.name !== undefined && { name: shortened(target.name) }),
    ...(error !== undefined && { error }),
    ...(principal && { caller: callerText(principal) }),
    ...(traceId !== undefined && { traceId }),
  })
}

/** A call as it is reported. */
interface ReportedCall extends Pick<PassthroughRecord, 'outcome' | 'error' | 'startedAt' | 'principal'> {
  /** Unknown for a passed-through call. */
  readonly id?: RequestId
  readonly method: string
  readonly target: CallTarget
  readonly header: HeaderReader | undefined
  readonly trace: TraceFields
}

/** Measures and logs a call. It runs for each passed-through request, so the details are added one by one. */
function report({ route, logger, metrics }: CallRecorderOptions, reported: ReportedCall): void {
  const { id, method, target, outcome, error, startedAt, principal, header, trace } = reported
  const elapsed = performance.now() - startedAt
  metrics.ended({ method, target, outcome, seconds: elapsed / 1000 })
  if (logger === undefined) return
  const { server, name } = target
  // A terminal shows the first four members.
  const details: Record<string, unknown> = { server }
  if (name !== undefined) details[method === 'prompts/get' ? 'prompt' : 'tool'] = shortened(name)
  details['outcome'] = outcome
  if (error !== undefined) details['error'] = error
  Object.assign(details, { ms: Math.round(elapsed * 10) / 10, method, route })
  if (id !== undefined) details['id'] = typeof id === 'string' ? shortened(id) : id
  Object.assign(details, requestIdIn(header))
  if (principal !== undefined) Object.assign(details, principalDetails(principal))
  const traceId = traceIdOf(trace)
  if (traceId !== undefined) details['traceId'] = traceId
  logger.info(details, 'A call was answered.')
}

function requestIdIn(header: HeaderReader | undefined): { readonly requestId?: string } {
  const requestId = header?.('x-request-id')
  return requestId !== undefined && REQUEST_ID.test(requestId) ? { requestId } : {}
}

function targetOf({ name: server, lists }: NamedLists, method: string, header: HeaderReader): CallTarget {
  const { tools, prompts } = lists.latest
  const list = method === 'tools/call' ? tools : method === 'prompts/get' ? prompts : undefined
  const name = list && header('mcp-name')
  const isListed = name !== undefined && list !== undefined && namesIn(list).has(name)
  return { server, name, isListed }
}

const namesIn = remembered((list: ListedEntries): ReadonlySet<unknown> => new Set(list.map(({ name }) => name)))
