/**
 * Relays answers over the bus to the instance that asked. They are sealed for the session that answered, so that
 * neither the bus nor another session can read or forge one.
 */
import { unlessRefused } from '../../../state/internal.ts'
import { isObject, type ResponseMessage } from '../../../protocol/index.ts'
import type { Sealer } from '../../../state/seal/index.ts'
import { LimitError } from '../../errors.ts'
import type { EventBus, ServerEvent } from '../../lifecycle/eventBus.ts'
import { CallerRate } from '../../limits/callerRate.ts'
import { quotaCaller } from '../../limits/quotaCaller.ts'
import type { Caller } from '../../call.ts'
import { bareResult } from './answer.ts'
import type { NamedQuestion } from './questionIds.ts'
import { bindingOf } from '../../binding.ts'

/** The name of a question, and of its call. */
type AskedQuestion = Pick<NamedQuestion, 'question' | 'call'>

export interface PushRelayOptions {
  readonly bus: EventBus
  readonly sealer: Sealer
  /** The caller whose question waits in this process, if any. */
  readonly callerOf: (asked: AskedQuestion) => Caller | undefined
  /** Continues the call with an answer; returns false if another process has done so. */
  readonly take: (asked: AskedQuestion, response: ResponseMessage, answerer: Caller) => Promise<boolean>
  readonly clock: () => number
}

interface RelayedAnswer {
  readonly response: ResponseMessage
  readonly answerer: Caller
}

/** `principal` is absent for an anonymous caller, and in messages of earlier versions. */
type RelayedBody = Pick<ResponseMessage, 'result' | 'error'> & Partial<Pick<Caller, 'principal'>>

// Long enough for a message broker, short enough for a person. After this the instance that asked counts as gone.
const TAKEN_WITHIN_MS = 500
// Limit per caller. Each answer is sent to all instances, once or twice.
const ANSWERS_PER_SECOND = 100

export class PushRelay {
  readonly #options: PushRelayOptions
  readonly #offers = new Map<string, (taken: boolean) => void>()
  /** Answers that are being offered, so that concurrent duplicates are offered once. */
  readonly #underWay = new Map<string, Promise<boolean>>()
  readonly #allowance: CallerRate

  constructor(options: PushRelayOptions) {
    this.#options = options
    this.#allowance = new CallerRate(ANSWERS_PER_SECOND, options.clock)
    options.bus.subscribe((event) => this.#hear(event))
  }

  /**
   * Offers an answer to the other instances, twice if needed; returns whether one of them took it. Throws over the
   * caller's rate limit.
   */
  async offer(asked: AskedQuestion, response: ResponseMessage, caller: Caller): Promise<boolean> {
    const { question } = asked
    const underWay = this.#underWay.get(question)
    if (underWay !== undefined) return underWay
    if (!this.#allowance.take(quotaCaller(caller))) throw tooManyAnswers()
    const offering = this.#offer(asked, response, caller).finally(() => this.#underWay.delete(question))
    this.#underWay.set(question, offering)
    return offering
  }

  async #offer(asked: AskedQuestion, response: ResponseMessage, caller: Caller): Promise<boolean> {
    const body = { result: bareResult(response), error: response.error, principal: caller.principal }
    const answer = this.#options.sealer.seal('push', bindingOf(caller), { id: sealId(asked.question), body })
    return (await this.#offerOnce(asked, answer)) || this.#offerOnce(asked, answer)
  }

  #offerOnce({ question, call }: AskedQuestion, answer: string): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (taken: boolean): void => {
        clearTimeout(timer)
        this.#offers.delete(question)
        resolve(taken)
      }
      const timer = setTimeout(settle, TAKEN_WITHIN_MS, false)
      this.#offers.set(question, settle)
      this.#options.bus.publish({ kind: 'answered', call, question, answer })
    })
  }

  #hear(event: ServerEvent): void {
    if (event.kind === 'answer-taken') this.#offers.get(event.question)?.(true)
    if (event.kind !== 'answered') return
    const { bus, callerOf, take } = this.#options
    const caller = callerOf(event)
    const opened = caller && this.#open(event.question, event.answer, caller)
    if (opened === undefined) return
    const taking = take(event, opened.response, opened.answerer).then((taken) => {
      if (taken) bus.publish({ kind: 'answer-taken', question: event.question })
    })
    taking.catch(() => {}) // a rule on who may answer has thrown, so it was not taken
  }

  /** The answer; undefined if it is for another question, or from another session. */
  #open(question: string, answer: string, caller: Caller): RelayedAnswer | undefined {
    const { id, body } = unlessRefused(() => this.#options.sealer.open('push', bindingOf(caller), answer)) ?? {}
    if (id !== sealId(question) || !isObject(body)) return undefined
    const { result, error, principal = caller.principal } = body as RelayedBody
    const response = { kind: 'response', id: question, result, error, state: undefined } as const
    return { response, answerer: { peer: caller.peer, principal } }
  }
}

/** The error for an answer over the rate limit: its instance is unknown, and the client may send it again. */
export function tooManyAnswers(): LimitError {
  return new LimitError('LIMIT_REQUESTS', 'Too many answers came to questions of other instances; send it again.', 1)
}

/** A prefix that no id of a client's state has, so that such a state cannot be used as an answer. */
function sealId(question: string): string {
  return `answer/${question}`
}
