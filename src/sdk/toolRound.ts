/** One round of a tool of an SDK server: open the request's journal, run the handler over it, settle the outcome. */
import type {
  CallToolResult,
  InputRequest,
  InputRequiredResult,
  RequestOptions,
  ServerContext,
} from '@modelcontextprotocol/server'
import { type Journal, newJournal, type Run } from '../journal/index.ts'
import { CODES, type Json, META, randomUuid } from '../protocol/index.ts'
import { type Logger, text } from '../server/index.ts'
import { assertRoundLeft, type CallLifetime, needsState, runHandler } from '../server/internal.ts'
import { digestOf, StateError } from '../state/internal.ts'
import type { Ledger } from '../state/stores/index.ts'
import { JournaledCall, type StateSeal } from './requestStateCodec.ts'

export interface ToolRoundOptions {
  readonly seal: StateSeal
  readonly ledger: Ledger
  readonly maxAsks: number
  readonly maxRounds: number
  readonly lifetime: CallLifetime
  readonly answerTimeoutMs: number
  readonly unwindMs: number
  readonly draining: () => boolean
  readonly boundArguments: (args: unknown) => unknown
  readonly logger: Logger | undefined
}

interface ToolCall {
  readonly tool: string
  readonly args: unknown
  readonly ctx: ServerContext
}

type RoundHandler = (run: Run) => CallToolResult | string | Promise<CallToolResult | string>

export async function runToolRound(
  call: ToolCall,
  options: ToolRoundOptions,
  handler: RoundHandler,
): Promise<CallToolResult | InputRequiredResult> {
  const { tool, ctx } = call
  const { ledger, maxAsks, unwindMs, answerTimeoutMs, draining, logger } = options
  return runHandler<CallToolResult | string, CallToolResult | InputRequiredResult>({
    open: () => openJournal(call, options),
    setup: () => ({
      about: { tool },
      ledger,
      shared: {
        ledger,
        scope: () => [...options.seal.scopeOf(ctx), tool],
        caller: () => options.seal.scopeOf(ctx)[1] ?? undefined,
      },
      claimSeconds: options.lifetime.claimSeconds,
      maxAsks,
      unwindMs,
      logger: () => logger,
      responses: ctx.mcpReq.inputResponses ?? {},
      push: isModern(ctx) ? undefined : (_, request) => push(ctx, request, answerTimeoutMs),
      assertAskable: () => {}, // the SDK checks the client's capabilities, in both eras
      shedding: () => (draining() ? 'draining' : 'no'),
    }),
    invoke: handler,
    complete: (value) => (typeof value === 'string' ? text(value) : value),
    failed: (error) => {
      throw error
    },
    asked: async (requests, journal) => {
      assertRoundLeft(journal, options.maxRounds)
      const requestState = needsState(requests, journal) ? await sealed(call, journal, options) : undefined
      return {
        resultType: 'input_required',
        ...(requests.size > 0 && { inputRequests: Object.fromEntries(requests) as Record<string, InputRequest> }),
        ...(requestState !== undefined && { requestState }),
      }
    },
    detached: () => {
      throw new TypeError('A tool of the SDK has no tasks to detach to.')
    },
  })
}

/** A request without state begins a new journal. A state of another call is refused like any other bad state. */
async function openJournal(call: ToolCall, options: ToolRoundOptions): Promise<Journal> {
  const state = call.ctx.mcpReq.requestState()
  if (state === undefined) return newJournal(randomUuid)
  try {
    // If the server has no `verify` hook, the state is still the raw string, and is opened here.
    const carried = typeof state === 'string' ? await options.seal.open(state, call.ctx) : state
    assertSameCall(carried, call, options)
    options.lifetime.assertAlive(carried.journal)
    return carried.journal
  } catch (cause) {
    if (cause instanceof StateError)
      options.logger?.warn({ tool: call.tool, code: cause.code }, 'A request state was refused.')
    throw new Error('The request state is not valid here (any more). Repeat the call from its first round.', { cause })
  }
}

function assertSameCall(carried: unknown, call: ToolCall, options: ToolRoundOptions): asserts carried is JournaledCall {
  if (!(carried instanceof JournaledCall))
    throw new StateError('STATE_PURPOSE', 'State was minted, not kept by a journal.')
  if (carried.tool !== call.tool) throw new StateError('STATE_NAME', 'State was sealed for another tool.')
  if (carried.argumentsDigest !== argumentsDigest(call, options))
    throw new StateError('STATE_ARGUMENTS', 'State was sealed for other arguments.')
}

function sealed(call: ToolCall, journal: Journal, options: ToolRoundOptions): string | Promise<string> {
  options.lifetime.begin(journal)
  return options.seal.sealCall(new JournaledCall(call.tool, argumentsDigest(call, options), journal), call.ctx)
}

function argumentsDigest({ args }: ToolCall, { boundArguments }: ToolRoundOptions): string {
  return digestOf(boundArguments(args))
}

function isModern({ mcpReq }: ServerContext): boolean {
  return (mcpReq.envelope as Json | undefined)?.[META.version] !== undefined
}

/** How long a session-era client may take to answer by default. */
export const ANSWER_TIMEOUT_MS = 600_000

/**
 * Asks a session-era client while the handler waits, by the SDK's own methods and on the stream of the tool call.
 * Undefined if the answer did not fit: the question is then asked again.
 */
function push({ mcpReq }: ServerContext, request: InputRequest, timeoutMs: number): Promise<unknown> {
  const options: RequestOptions = {
    relatedRequestId: mcpReq.id,
    signal: mcpReq.signal,
    timeout: timeoutMs,
    resetTimeoutOnProgress: true,
    onprogress: () => {}, // makes the SDK send a progress token, so that progress can reset the timeout
  }
  switch (request.method) {
    case 'elicitation/create':
      return mcpReq.elicitInput(withId(request.params), options).catch(undefinedWhenUnfit)
    case 'sampling/createMessage':
      return mcpReq.requestSampling(request.params, options)
    case 'roots/list':
      return mcpReq.send({ method: 'roots/list' }, options)
    default:
      return request satisfies never
  }
}

type ElicitParams = Parameters<ServerContext['mcpReq']['elicitInput']>[0]

// URL elicitations have an id in 2025-11-25, and none in 2026-07-28.
function withId(params: ElicitParams): ElicitParams {
  return params.mode === 'url' ? { ...params, elicitationId: randomUuid() } : params
}

/** The SDK rejects an answer that does not fit its form with -32602. We ask again instead (MRTR-43). */
function undefinedWhenUnfit(error: unknown): undefined {
  if ((error as { code?: unknown }).code !== CODES.INVALID_PARAMS) throw error
}
