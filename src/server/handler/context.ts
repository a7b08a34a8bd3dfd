/** What a handler is given beside its arguments. It belongs to one request and is dead when that request is answered. */
import type { Implementation, LoggingLevel } from '@modelcontextprotocol/client'
import type { Run } from '../../journal/index.ts'
import { declares, type Era, type Json, reaches } from '../../protocol/index.ts'
import { Asking } from './asking.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call } from '../call.ts'
import { ClientState } from './clientState.ts'

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

/** The token comes back in every notification, so a long one would be a way to make us send and keep much. */
function isProgressToken(token: unknown): boolean {
  return typeof token === 'number' || (typeof token === 'string' && token.length <= 256)
}
