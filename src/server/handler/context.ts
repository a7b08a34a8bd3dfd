/** What a handler is given beside its arguments. It belongs to one request, and throws when it is used after the answer. */
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitResult,
  Implementation,
  ListRootsResult,
  LoggingLevel,
  Root,
} from '@modelcontextprotocol/client'
import type { OnceOptions, Run, Stored } from '../../journal/index.ts'
import { declares, type Era, type Json, reaches } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call } from '../call.ts'
import type { InferSchema, SchemaLike } from '../schema.ts'
import { ClientState } from './clientState.ts'
import { askForm, type Elicited, elicitForm, type Form, listRoots, sampleModel, visitPage } from './questions.ts'

type Forms = Readonly<Record<string, Form>>
type FormAnswers<F extends Forms> = { [K in keyof F]: F[K] extends Form<infer S> ? InferSchema<S> : never }

/**
 * The part of the context that asks the client and remembers. It needs only the run, so servers of the official SDK offer
 * it as well.
 */
export class Asking {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  /** Asks the person; gives the checked content, or throws Declined. Several forms at once go out in one round. */
  ask<S extends SchemaLike>(this: Asking, key: string, form: Form<S>): Promise<InferSchema<S>>
  ask<F extends Forms>(this: Asking, forms: F): Promise<FormAnswers<F>>
  ask(this: Asking, first: string | Forms, form?: Form): Promise<unknown> {
    if (typeof first === 'string') return this.#run.ask(first, askForm(form as Form))
    const keys = Object.keys(first)
    const answers = keys.map((key) => this.#run.ask(key, askForm(first[key] as Form)))
    return Promise.all(answers).then((values) => Object.fromEntries(keys.map((key, index) => [key, values[index]])))
  }

  /** Asks the person; gives what they did: accept with content, decline or cancel. */
  elicit<S extends SchemaLike>(this: Asking, key: string, form: Form<S>): Promise<Elicited<S>> {
    return this.#run.ask(key, elicitForm(form))
  }

  /** Sends the person to a page; resolves when they agreed to go, throws Declined when not. */
  visit(this: Asking, key: string, url: string, message: string): Promise<ElicitResult> {
    return this.#run.ask(key, visitPage(url, message))
  }

  /** Lets the client's model write a message. */
  sample(this: Asking, key: string, params: CreateMessageRequestParams): Promise<CreateMessageResult> {
    return this.#run.ask(key, sampleModel(params))
  }

  /** The folders the client works in. */
  async roots(this: Asking, key: string): Promise<Root[]> {
    const { roots }: ListRootsResult = await this.#run.ask(key, listRoots())
    return roots
  }

  /** Runs `fn` in the first round that comes here and gives its result in all later ones. */
  step<T>(this: Asking, key: string, fn: () => T | Promise<T>): Promise<Stored<T>> {
    return this.#run.step(key, fn)
  }

  /** Like `step`, and claims a ledger entry, so that a repeated round does not run it again either. */
  once<T>(
    this: Asking,
    key: string,
    fn: (idempotencyKey: string) => T | Promise<T>,
    options?: OnceOptions,
  ): Promise<Stored<T>> {
    return this.#run.once(key, fn, options)
  }

  /** Lets another instance go on from here when this one is draining or has too much to do. */
  checkpoint(): Promise<void> {
    return this.#run.checkpoint()
  }
}

export class Context extends Asking {
  readonly #call: Call
  readonly #run: Run
  readonly #requestState: unknown
  #state: ClientState | undefined
  #abort: AbortController | undefined
  #progress = Number.NEGATIVE_INFINITY

  /** `state` is what an earlier round of this same request has set, where rounds are played in place. */
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

  /** Tells how far the work is, when the client wants to know. It must grow; what does not is left out. */
  progress(progress: number, total?: number, message?: string): void {
    this.#run.assertOpen('Progress')
    if (!(progress > this.#progress)) return
    const { meta, channel } = this.#call
    if (channel.progress !== undefined) {
      this.#progress = progress
      // A task remembers what it said; a run that catches up would take it back.
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

  /** Tells the client what is going on, when it asked for messages of this level. */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this.#run.assertOpen('A log message')
    const { logLevel } = this.#call.peer
    if (logLevel === undefined || !reaches(level, logLevel)) return
    this.#call.channel.notify('notifications/message', { level, data, ...(logger !== undefined && { logger }) })
  }

  /** Lets a session-era connection go while work goes on; the client comes back for the rest. Elsewhere it does nothing. */
  hangUp(retryMs = 1000): void {
    this.#run.assertOpen('Hanging up')
    this.#call.channel.hangUp?.(retryMs)
  }

  /** Aborted when the client cancels or goes away, and in a task when it is cancelled or goes on elsewhere. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController()
      this.#abort = abort
      if (this.#call.channel.cancelled) abort.abort()
      else this.#call.channel.onCancel(() => abort.abort())
    }
    return this.#abort.signal
  }

  /** What the client keeps for this server (SEP-1655). */
  get state(): ClientState {
    this.#state ??= new ClientState(this.#call)
    return this.#state
  }

  get principal(): Principal | undefined {
    return this.#call.principal
  }

  /** What the client calls itself. Nobody has verified it. */
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

  /** The answers this round brought, unchecked: for handlers in explicit style. */
  get inputResponses(): Json {
    return (this.#call.params['inputResponses'] as Json | undefined) ?? {}
  }

  /** What this handler gave to `inputRequired` in the round before, opened and verified. */
  get requestState(): unknown {
    return this.#requestState
  }

  /** What the result must carry for the client to keep. */
  static stateMeta(context: Context): Json | undefined {
    return context.#state?.meta
  }
}

/** What the handler of a tool has that begins as a call and may become a task. */
export class DetachableContext extends Context {
  readonly #run: Run

  constructor(call: Call, run: Run, requestState: unknown, state?: ClientState) {
    super(call, run, requestState, state)
    this.#run = run
  }

  /**
   * Makes a task of this call: what follows runs in the background and survives its process. What was answered and done
   * goes with it. A task stays one, so what this gives cannot detach again. Where the client takes no tasks, the call
   * simply goes on.
   */
  async detach(): Promise<Context> {
    await this.#run.detach()
    return this
  }
}

/** The token comes back in every notification, so a long one would be a way to make us send and keep much. */
function isProgressToken(token: unknown): boolean {
  return typeof token === 'number' || (typeof token === 'string' && token.length <= 256)
}
