/** Answers to pushed questions: forwards each to the instance with the call that asked. */
import { goneReply, movedReply, type Owners, type Self } from '../../../cluster/index.ts'
import type { Json, ResponseMessage } from '../../../protocol/index.ts'
import type { Caller } from '../../call.ts'
import type { HttpReply, Sink } from '../../http/exchange.ts'
import { refusal } from '../../http/refusal.ts'
import { CallerRate } from '../../limits/callerRate.ts'
import { quotaCaller } from '../../limits/quotaCaller.ts'
import type { Logger } from '../../logger.ts'
import type { ClientRequest, ClientRequests } from '../../forwarding/clientRequests.ts'
import type { ResumedCall } from './handOff.ts'
import type { PushBroker } from './broker.ts'
import { tooManyAnswers } from './relay.ts'
import type { PushState } from './state.ts'

export interface AnswerForwarderOptions {
  readonly self: Self
  readonly pushes: PushBroker
  readonly forwarder: ClientRequests
  readonly owners: Owners
  /** Resumes a call whose instance is gone. */
  readonly resume: (call: ResumedCall, caller: Caller, position: number) => void
  /** Ends the stream of a call that no instance can resume: its client gets an error. */
  readonly end: (state: PushState, caller: Caller) => void
  readonly clock: () => number
  readonly logger: () => Logger
}

const OWNER_GONE =
  'The instance that asked is gone, and its call with it. It may have had effects; look before you repeat it.'
const STOPPING = 'This instance is being stopped. Send the answer again, to another one.'
const OWNER_UNREACHABLE = 'Another instance asked this, and it cannot be reached from here.'

// Several instances in a row may have stopped while a call waited.
const MAX_HOPS = 10
// Limit per caller. Each search asks all instances several times.
const SEARCHES_PER_SECOND = 100
// Limit per caller. Each forwarded answer is a message to one instance, which may be gone.
const FORWARDS_PER_SECOND = 1000

/** The unchanged message, for another instance. */
function bodyOf({ id, result, error, state }: ResponseMessage): Json {
  return { jsonrpc: '2.0', id, result, error, state }
}

export class AnswerForwarder {
  readonly #options: AnswerForwarderOptions
  readonly #searches: CallerRate
  readonly #forwards: CallerRate

  constructor(options: AnswerForwarderOptions) {
    this.#options = options
    this.#searches = new CallerRate(SEARCHES_PER_SECOND, options.clock)
    this.#forwards = new CallerRate(FORWARDS_PER_SECOND, options.clock)
  }

  /** Takes an answer, or forwards it. `sink` is absent if it was forwarded here; then it is not forwarded again. */
  async take(
    message: ResponseMessage,
    caller: Caller,
    request: ClientRequest,
    sink: Sink | undefined,
  ): Promise<HttpReply | undefined> {
    const { self, pushes, forwarder, owners, resume, end, logger } = this.#options
    const call = pushes.callOf(message, caller)
    const gone = new Set(request.gone)
    for (let hops = 0; hops < MAX_HOPS; hops++) {
      const taken = await pushes.take(message, caller, gone)
      switch (taken.kind) {
        case 'settled':
          return { status: 202 }
        case 'resumed':
          resume(taken.call, caller, taken.state.position)
          return { status: 202 }
        case 'left':
          return sink === undefined ? goneReply('it is being stopped') : refusal(503, STOPPING)
        case 'ended':
          // The instance where the call ended may be stopping, and then hands the result off.
          if (sink === undefined || !(await this.#findStream(taken.state, caller))) end(taken.state, caller)
          return { status: 202 }
        case 'lost':
          if (sink !== undefined && (await this.#find(call, caller, gone))) break
          if (taken.state !== undefined) end(taken.state, caller)
          logger().warn({}, 'An answer came to a question of an instance that is gone, and its call with it.')
          return refusal(410, OWNER_GONE)
        case 'unreachable':
          logger().warn({}, 'An answer came to a question of another instance, which has no address. Set `advertise`.')
          return refusal(421, OWNER_UNREACHABLE)
        case 'elsewhere': {
          const { instance } = taken
          if (sink === undefined) return movedReply(instance)
          if (!this.#forwards.take(quotaCaller(caller))) throw tooManyAnswers()
          const forwarded = await forwarder.forward(instance, { ...request, body: bodyOf(message), gone }, sink)
          if (forwarded.kind === 'replied') return forwarded.reply
          // An instance that is offered a call leaves it to the one that has claimed it, which may be gone.
          if (forwarded.kind === 'moved' && forwarded.to.id !== self.id) {
            if (call !== undefined) owners.note([call], forwarded.to)
            break
          }
          const why = forwarded.kind === 'moved' ? 'it has handed the call off' : forwarded.why
          logger().info({ url: instance.url, why }, 'The instance that asked a question is gone.')
          gone.add(instance.id)
          break
        }
        default:
          return taken satisfies never
      }
    }
    return refusal(410, OWNER_GONE)
  }

  /** Whether a live instance has the call. */
  async #find(call: string | undefined, caller: Caller, gone: ReadonlySet<string>): Promise<boolean> {
    const { pushes, owners } = this.#options
    if (call === undefined || !this.#searches.take(quotaCaller(caller))) return false
    return owners.seek(call, () => pushes.isAwaited(call, gone))
  }

  /** Whether an instance announces that it has the stream of a call that has ended. */
  async #findStream({ stream }: PushState, caller: Caller): Promise<boolean> {
    const { owners } = this.#options
    if (!this.#searches.take(quotaCaller(caller))) return false
    const known = owners.get(stream)
    return owners.seek(stream, () => owners.get(stream) !== known)
  }
}
