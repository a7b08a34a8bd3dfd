/**
 * A call that may have to wait for people, as a journaled handler: first its approval, then its rounds at the server,
 * whose questions are those of the handler.
 *
 * - Nothing is sent before the approval, and one approval sends one call.
 * - A round that was cut off with its process is sent again only if that is safe.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { type AnsweredBy, JournalError } from '../../journal/index.ts'
import { isObject, type Json, RemoteError, TOOL_META } from '../../protocol/index.ts'
import { failure } from '../../server/index.ts'
import { Context, MAX_ROUNDS, toWireError } from '../../server/internal.ts'
import { BackendError, callLost, tooLongForPeople } from '../errors.ts'
import type { ApprovalQuestion } from './approval.ts'

/** An answer to a question of a call. */
export interface HeldAnswer {
  readonly by: AnsweredBy | undefined
  /** The id of the question; undefined if it was asked in the client of the call. */
  readonly question: string | undefined
}

/** What an approver answered. */
export interface ApproverAnswer extends HeldAnswer {
  readonly isApproved: boolean
}

/** What was answered to a question of the server. */
export interface ServerAnswer extends HeldAnswer {
  readonly action: string
}

export interface HeldCall {
  readonly server: string
  /** The tool's name at its server. */
  readonly name: string
  /** The tool's name in lists of questions. */
  readonly shownAs: string
  readonly approval: ApprovalQuestion | undefined
  /** Whether a round may be sent again after it was cut off. */
  mayRepeat(round: number): boolean
  /** Records what an approver answered. */
  answered(answer: ApproverAnswer): Promise<void>
  /** Records what was answered to a question of the server. */
  answeredServer(answer: ServerAnswer): Promise<void>
  /** Sends a round: the result, or the questions of the server. */
  send(brought: Json): Promise<Json>
}

/** Runs the call up to its result, or to the next question that is open. */
export async function runHeld(ctx: Context, call: HeldCall, clock: () => number): Promise<Json> {
  const refusal = call.approval && (await refusalOf(ctx, call, call.approval, clock))
  if (refusal !== undefined) return failure(refusal)
  let brought: Json = {}
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const result = await sendRound(ctx, call, round, brought)
    const { resultType, requestState, inputRequests } = result
    if (resultType !== 'input_required') return result
    const inputResponses = await answersTo(ctx, call, round, isObject(inputRequests) ? inputRequests : {})
    brought = { ...(requestState !== undefined && { requestState }), inputResponses }
  }
  throw new JournalError('ROUNDS_EXHAUSTED', `The call still asked for input after ${MAX_ROUNDS} rounds.`)
}

const APPROVAL = 'approval'

/** Why the call is not sent; undefined once it is approved. */
async function refusalOf(
  ctx: Context,
  call: HeldCall,
  approval: ApprovalQuestion,
  clock: () => number,
): Promise<string | undefined> {
  const { request, approvers, seconds } = approval
  const until = await ctx.step('until', () => clock() + seconds * 1000)
  const { action, content } = await Context.relay(ctx, APPROVAL, shownAs(request, call), approvers)
  const isApproved = action === 'accept' && isObject(content) && content['approve'] === true
  await ctx.step('recorded', () => call.answered({ isApproved, ...answerOf(ctx, APPROVAL) }))
  if (!isApproved)
    return `Not approved: ${ctx.answeredBy(APPROVAL)?.subject ?? 'the approver'} declined. Nothing was sent.`
  return clock() > until ? 'The approval expired before the call was sent. Call again for another one.' : undefined
}

/** The outcome of a round. Errors are kept as well, because an approval counts once, whatever the outcome. */
type RoundEnd = { readonly result: Json } | { readonly error: { code: number; message: string; data?: unknown } }

async function sendRound(ctx: Context, call: HeldCall, round: number, brought: Json): Promise<Json> {
  const end = await endOnce(ctx, call, round, brought)
  if ('result' in end) return end.result
  throw new RemoteError(end.error.code, end.error.message, end.error.data)
}

function endOnce(ctx: Context, call: HeldCall, round: number, brought: Json): Promise<RoundEnd> {
  const key = `round ${round}`
  // Only a client that calls again repeats the call, as without the gateway.
  if (call.approval === undefined && ctx.taskId === undefined)
    return ctx.step(key, async (): Promise<RoundEnd> => ({ result: await call.send(brought) }))
  const retryUnsettled = call.mayRepeat(round)
  return ctx.once(key, () => endOf(call, brought), { retryUnsettled }).catch(rethrow(call))
}

async function endOf(call: HeldCall, brought: Json): Promise<RoundEnd> {
  try {
    return { result: await call.send(brought) }
  } catch (error) {
    const { code, message, data } = toWireError(error)
    return { error: { code, message, ...(data !== undefined && { data }) } }
  }
}

const ENDED = 'the gateway that sent it ended'

function rethrow({ server, name }: HeldCall) {
  return (error: unknown): never => {
    const isCutOff = error instanceof JournalError && error.code === 'ONCE_UNSETTLED'
    throw isCutOff ? callLost(server, name, ENDED) : error
  }
}

/** Nobody reads more, and lists of questions have many of them. */
const MAX_QUESTION_CHARS = 64 * 1024

async function answersTo(ctx: Context, call: HeldCall, round: number, requests: Json): Promise<Json> {
  for (const request of Object.values(requests)) {
    const { length } = JSON.stringify(request)
    if (length > MAX_QUESTION_CHARS)
      throw new BackendError('BACKEND_INVALID', call.server, tooLongForPeople(length, MAX_QUESTION_CHARS))
  }
  const asked = Object.entries(requests).map(async ([key, request]) => {
    const response = await Context.relay(ctx, `${round} ${key}`, shownAs(request as InputRequest, call))
    return [key, response] as const
  })
  const answers = await Promise.all(asked)
  for (const [key, { action }] of answers) {
    const answer = { action: String(action), ...answerOf(ctx, `${round} ${key}`) }
    if (action !== undefined) await ctx.step(`recorded ${round} ${key}`, () => call.answeredServer(answer))
  }
  return Object.fromEntries(answers)
}

function answerOf(ctx: Context, key: string): HeldAnswer {
  return { by: ctx.answeredBy(key), question: ctx.taskId === undefined ? undefined : `${ctx.taskId}:${key}` }
}

/** The question with the tool that it is about. */
function shownAs(request: InputRequest, { shownAs: tool }: HeldCall): InputRequest {
  const { _meta: meta, ...params } = (request.params ?? {}) as Json
  return {
    ...request,
    params: { ...params, _meta: { ...(isObject(meta) ? meta : {}), [TOOL_META]: tool } },
  } as InputRequest
}
