/**
 * Calls whose clients cannot be asked. Such a call waits in the task store. Its result says what is asked, where it is answered, and
 * how to come back: with the tool `continue_call` and the ticket, or, for callers with a name, with the same call again.
 *
 * - The ticket is the id of the waiting call. It is worth nothing to another caller.
 * - A call that waits, or whose result was not fetched, does not begin a second time when it comes again.
 */
import type { CallToolResult, InputRequest } from '@modelcontextprotocol/client'
import type { Journal } from '../../journal/index.ts'
import type { Json } from '../../protocol/index.ts'
import { digestOf } from '../../state/internal.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call, Caller } from '../call.ts'
import { failure } from '../catalog/content.ts'
import { isAskable } from '../handler/askable.ts'
import type { Results } from '../results.ts'
import type { QuestionDesk, DeferredCall } from '../taskPort.ts'
import type { QuestionLinks } from './links.ts'

export const CONTINUE_TOOL = 'continue_call'

/** `_meta` of a result that waits, for programs. */
const WAITING_META = 'dev.pannier/waiting'

export interface DeferredCallsOptions {
  readonly desk: QuestionDesk
  readonly links: QuestionLinks
  readonly results: Results
  readonly waitSeconds: number
  /** Whether people log in at the pages, so that questions for others have one, too. */
  readonly hasLogin: boolean
  /** Whether a caller may still call a tool. */
  readonly mayCall: (principal: Principal | undefined, tool: string) => boolean
}

/** A tool that was called, with its arguments. */
export interface DeferredTool {
  readonly tool: string
  readonly args: Json
  /** Whether its results must have structured content, which a result that waits has not. */
  readonly hasOutput: boolean
  /** How long each of its questions can be answered. @default the `waitSeconds` of the server */
  readonly answerSeconds?: number | undefined
  /** Whether also the calls of clients that show forms wait, because others are asked. @default false */
  readonly asksOthers?: boolean
}

const ANY_FORM: InputRequest = {
  method: 'elicitation/create',
  params: { message: '', requestedSchema: { type: 'object', properties: {} } },
}

export class DeferredCalls {
  readonly #options: DeferredCallsOptions

  constructor(options: DeferredCallsOptions) {
    this.#options = options
  }

  /** The same call of a caller with a name, if it waits or its result was not fetched: the text of the result. */
  async again(call: Call, { tool, args, hasOutput, asksOthers = false }: DeferredTool): Promise<string | undefined> {
    const same = sameOf(call, tool, args)
    if (same === undefined || (!asksOthers && isAskable(call, ANY_FORM))) return undefined
    const waiting = await this.#options.desk.waiting(call, { same })
    if (waiting === undefined) return undefined
    const result = await this.#resultOf(call, waiting, hasOutput, () => call.channel.cancelled)
    return this.#options.results.complete(result, call.peer)
  }

  /** Lets a call wait. Gives the text of its result. */
  async wait(call: Call, deferred: DeferredTool, journal: Journal): Promise<string> {
    const { desk, results, waitSeconds } = this.#options
    const { tool, args, hasOutput, answerSeconds = waitSeconds } = deferred
    const work = { tool, args, journal, same: sameOf(call, tool, args), answerMs: answerSeconds * 1000 }
    const waiting = await desk.create(call, work)
    return results.complete(await this.#resultOf(call, waiting, hasOutput, () => call.channel.cancelled), call.peer)
  }

  /** The result of `continue_call`. */
  async continued(caller: Pick<Caller, 'principal'>, ticket: string, hasLeft: () => boolean): Promise<Json> {
    const { desk, mayCall } = this.#options
    const waiting = await desk.waiting(caller, { ticket })
    if (waiting === undefined || !mayCall(caller.principal, waiting.tool))
      return failure(
        'No call waits under this ticket. It was of another caller, or its time is over: make the call again.',
      )
    return this.#resultOf(caller, waiting, false, hasLeft)
  }

  /** `hasLeft`: whether the client will not get this result, so that it is still to be fetched. */
  async #resultOf(
    caller: Pick<Caller, 'principal'>,
    waiting: DeferredCall,
    hasOutput: boolean,
    hasLeft: () => boolean,
  ): Promise<Json> {
    const { status, result, failure: error } = waiting
    if (status === 'working') return this.#unfinished(waiting, ['This call is still at work.'], hasOutput)
    const isOpen = status === 'input_required' && waiting.questions.size > 0
    if (isOpen) return this.#asking(caller, waiting, hasOutput)
    if (!hasLeft()) await this.#options.desk.taken(caller, waiting.id)
    if (status === 'completed') return result ?? {}
    if (status === 'cancelled') return failure('The call was cancelled while it waited.')
    return failure(error?.message ?? 'Nobody answered in time.')
  }

  async #asking(caller: Pick<Caller, 'principal'>, waiting: DeferredCall, hasOutput: boolean): Promise<Json> {
    const { desk, links, hasLogin } = this.#options
    const owner = desk.ownerOf(caller)
    const asked = Array.from(waiting.questions, async ([key, { params }]) => {
      const by = waiting.approvers.get(key)?.by
      const id = `${waiting.id}:${key}`
      const url =
        by === undefined
          ? await links.to({ question: id, owner })
          : hasLogin
            ? await links.to({ question: id })
            : undefined
      const { message = '' } = (params ?? {}) as { message?: string }
      return { id, message, ...(url !== undefined && { url }), ...(by !== undefined && { by }) }
    })
    const questions = await Promise.all(asked)
    const sentences = [
      'This call waits for a person, and this client cannot show them the question. Pass this on:',
      ...questions.map(sentenceOf),
    ]
    return this.#unfinished(waiting, sentences, hasOutput, questions)
  }

  #unfinished(
    { id }: DeferredCall,
    sentences: readonly string[],
    hasOutput: boolean,
    questions?: readonly Json[],
  ): Json {
    const next = `Afterwards call the tool ${CONTINUE_TOOL} with {"ticket":${JSON.stringify(id)}} for the result.`
    const result: CallToolResult = { content: [{ type: 'text', text: [...sentences, next].join('\n\n') }] }
    // A client refuses a result without structured content where the tool has an output schema, but not an error.
    const error = hasOutput && { isError: true }
    return { ...result, ...error, _meta: { [WAITING_META]: { ticket: id, questions: questions ?? [] } } }
  }
}

interface ShownQuestion {
  readonly message: string
  readonly url?: string
  readonly by?: readonly string[]
}

function sentenceOf({ message, url, by }: ShownQuestion): string {
  const where = url === undefined ? '' : `\nThe page of the question, after a login: ${url}`
  if (by !== undefined) return `It waits for ${by.join(' or ')} to answer: ${message}${where}`
  return url === undefined ? `The question: ${message}` : `The question: ${message}\nAnswer it here: ${url}`
}

function sameOf({ principal }: Pick<Caller, 'principal'>, tool: string, args: Json): string | undefined {
  return principal === undefined ? undefined : digestOf([tool, args])
}
