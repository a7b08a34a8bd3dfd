/**
 * The second argument of a handler. It belongs to one request. After the answer, questions and steps reject, and
 * progress and log messages do nothing.
 */
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitResult,
  Implementation,
  InputRequest,
  ListRootsResult,
  LoggingLevel,
  Root,
} from '@modelcontextprotocol/client'
import {
  type AnsweredBy,
  answererOf,
  type Approvers,
  type OnceOptions,
  type Question,
  type Run,
  type Stored,
} from '../../journal/index.ts'
import { declares, type Era, type Json, reaches } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call } from '../call.ts'
import type { InferSchema, SchemaLike } from '../schema/schema.ts'
import { guardListeners } from './guardedSignal.ts'
import { ClientState } from './clientState.ts'
import {
  askForm,
  type Elicited,
  elicitForm,
  type Form,
  listRoots,
  relayedQuestion,
  sampleModel,
  visitPage,
} from './questions.ts'

type Forms = Readonly<Record<string, Form>>
type FormAnswers<F extends Forms> = { [K in keyof F]: F[K] extends Form<infer S> ? InferSchema<S> : never }

/**
 * The part of the context that asks the client and remembers. It needs only the run, so servers of the official SDK
 * offer it as well.
 */
export class Asking {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  /** Asks the person and gives the checked content, or throws Declined. Several forms are sent in one round. */
  ask<S extends SchemaLike>(this: Asking, key: string, form: Form<S>): Promise<InferSchema<S>>
  ask<F extends Forms>(this: Asking, forms: F): Promise<FormAnswers<F>>
  ask(this: Asking, first: string | Forms, form?: Form): Promise<unknown> {
    if (typeof first === 'string') return this.#asked(first, askForm(form as Form))
    const keys = Object.keys(first)
    const answers = Promise.all(keys.map((key) => this.#run.ask(key, askForm(first[key] as Form))))
    const byKey = answers.then((values) => Object.fromEntries(keys.map((key, index) => [key, values[index]])))
    return this.#run.give(`the questions ${keys.map((key) => `"${key}"`).join(', ')}`, byKey)
  }

  /** Asks the person and gives their action: accept with content, decline or cancel. */
  elicit<S extends SchemaLike>(this: Asking, key: string, form: Form<S>): Promise<Elicited<S>> {
    return this.#asked(key, elicitForm(form))
  }

  /** Sends the person to a web page. Resolves when they agreed to open it; throws Declined if not. */
  visit(this: Asking, key: string, url: string, message: string): Promise<ElicitResult> {
    return this.#asked(key, visitPage(url, message))
  }

  /** Lets the client's model write a message. */
  sample(this: Asking, key: string, params: CreateMessageRequestParams): Promise<CreateMessageResult> {
    return this.#asked(key, sampleModel(params))
  }

  /** The folders the client works in. */
  roots(this: Asking, key: string): Promise<Root[]> {
    const answer = this.#run.ask(key, listRoots())
    return this.#run.give(
      `the question "${key}"`,
      answer.then(({ roots }: ListRootsResult) => roots),
    )
  }

  /** Runs `fn` in the first round that reaches it; all later rounds get its stored result. */
  step<T>(this: Asking, key: string, fn: () => T | Promise<T>): Promise<Stored<T>> {
    return this.#run.give(`the step "${key}"`, this.#run.step(key, fn))
  }

  /** Like `step`, and claims a ledger entry, so that a client that sends a round twice does not run `fn` twice. */
  once<T>(
    this: Asking,
    key: string,
    fn: (idempotencyKey: string) => T | Promise<T>,
    options?: OnceOptions,
  ): Promise<Stored<T>> {
    return this.#run.give(`the step "${key}"`, this.#run.once(key, fn, options))
  }

  /** Ends the round here when this instance is draining or overloaded; another one continues the call. */
  checkpoint(): Promise<void> {
    return this.#run.give('a checkpoint', this.#run.checkpoint())
  }

  /** Asks on behalf of another server, and gives the response as it came. Without `approvers` the caller is asked. */
  static relay(asking: Asking, key: string, request: InputRequest, approvers?: Approvers): Promise<Json> {
    return asking.#asked(key, relayedQuestion(request, approvers))
  }

  #asked<T>(this: Asking, key: string, question: Question<T>): Promise<T> {
    return this.#run.give(`the question "${key}"`, this.#run.ask(key, question))
  }
}

/** The questions, steps and facts of a call, for its handler. */
export class Context extends Asking {
  readonly #call: Call
  readonly #run: Run
  readonly #requestState: unknown
  #state: ClientState | undefined
  #abort: AbortController | undefined
  #progress = Number.NEGATIVE_INFINITY

  /** `state`: the values set by an earlier round of this same request, if rounds are run in place. */
  constructor(call: Call, run: Run, requestState: unknown, state?: ClientState) {
    super(run)
    this.#call = call
    this.#run = run
    this.#requestState = requestState
    this.#state = state
  }

  /** Whether the client declared a capability: `elicitation`, `elicitation.url`, `sampling.tools`, `roots`, … */
  can(capability: string): boolean {
    return declares(this.#call.peer.capabilities, capability)
  }

  /** Sends progress, if the client asked for it. Values that do not increase are dropped. */
  progress(progress: number, total?: number, message?: string): void {
    if (!this.#run.isOpen('ctx.progress') || !(progress > this.#progress)) return
    const { meta, channel } = this.#call
    if (channel.progress !== undefined) {
      this.#progress = progress
      // The task has stored its progress; a replayed run would set it back.
      return this.#run.isReplaying ? undefined : channel.progress(progress, total, message)
    }
    const { progressToken } = meta
    if (!isProgressToken(progressToken)) return
    this.#progress = progress
    const details = {
      progressToken,
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    }
    channel.notify('notifications/progress', details)
  }

  /** Sends a log message, if the client asked for this level. */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    if (!this.#run.isOpen('ctx.log')) return
    const { logLevel } = this.#call.peer
    if (logLevel === undefined || !reaches(level, logLevel)) return
    this.#call.channel.notify('notifications/message', { level, data, ...(logger !== undefined && { logger }) })
  }

  /**
   * Closes a session-era connection while the call continues; the client reconnects for the rest. No effect elsewhere.
   */
  hangUp(retryMs = 1000): void {
    if (this.#run.isOpen('ctx.hangUp')) this.#call.channel.hangUp?.(retryMs)
  }

  /** Aborted when the client cancels or disconnects. In a task: when it is cancelled, or its lease is lost. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController()
      guardListeners(abort.signal, (error) => this.#run.lost('a listener of its signal', error))
      this.#abort = abort
      const cancel = (): void => abort.abort(this.#run.abortReason())
      if (this.#call.channel.cancelled) cancel()
      else this.#call.channel.onCancel(cancel)
    }
    return this.#abort.signal
  }

  /** The state that the client keeps for this server (SEP-1655). */
  get state(): ClientState {
    this.#state ??= new ClientState(this.#call)
    return this.#state
  }

  get principal(): Principal | undefined {
    return this.#call.principal
  }

  /** The principal who answered a question, as it was at that time: the caller, or an approver that matches `by`. */
  answeredBy(key: string): AnsweredBy | undefined {
    return this.#run.answererOf(key, answererOf(this.#call.principal))
  }

  /** The id of the task that this run belongs to, for those who are to answer it; undefined in an ordinary call. */
  get taskId(): string | undefined {
    const { channel, id } = this.#call
    return channel.progress === undefined ? undefined : String(id)
  }

  /** Name and version that the client gives. They are not verified. */
  get client(): Implementation | undefined {
    return this.#call.peer.client
  }

  get era(): Era {
    return this.#call.peer.era
  }

  /** The request's `_meta`, trace context included. */
  get meta(): Json {
    return this.#call.meta
  }

  /** The answers of this round, unchecked: for handlers in explicit style. */
  get inputResponses(): Json {
    return (this.#call.params['inputResponses'] as Json | undefined) ?? {}
  }

  /** The state that this handler gave to `inputRequired` in the previous round, opened and verified. */
  get requestState(): unknown {
    return this.#requestState
  }

  /** The `_meta` of the result that sets the client's state. */
  static stateMeta(context: Context): Json | undefined {
    return context.#state?.meta
  }
}

/** The context of a tool that starts as a call and may become a task. */
export class DetachableContext extends Context {
  readonly #run: Run

  constructor(call: Call, run: Run, requestState: unknown, state?: ClientState) {
    super(call, run, requestState, state)
    this.#run = run
  }

  /**
   * Makes a task of this call: the rest of the handler runs in the background and survives its process, with all
   * answers and finished steps. A task cannot detach again, so the returned context has no `detach`. If the client does
   * not support tasks, the call continues as an ordinary call.
   */
  detach(): Promise<Context> {
    return this.#run.give(
      'ctx.detach()',
      this.#run.detach().then(() => this),
    )
  }
}

/**
 * The token is repeated in every notification, so a long one would let a client make the server send and hold a lot.
 */
function isProgressToken(token: unknown): boolean {
  return typeof token === 'number' || (typeof token === 'string' && token.length <= 256)
}
