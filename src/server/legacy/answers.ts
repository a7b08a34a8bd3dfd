/** Answers to pushed questions: each goes to the call that asked, at whichever instance that is. */
import type { Json, ResponseMessage } from '../../protocol/index.ts'
import type { Caller } from '../call.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'
import { refusal } from '../http/refusal.ts'
import type { Logger } from '../logger.ts'
import type { ClientRequest, Forwarder } from '../replicas/forwarder.ts'
import type { Peers } from '../replicas/peers.ts'
import type { PushBroker, RevivedCall } from './push.ts'

export interface AnswersOptions {
  readonly pushes: PushBroker
  readonly forwarder: Forwarder
  readonly peers: Peers
  /** Runs a call whose instance is gone. */
  readonly revive: (call: RevivedCall, caller: Caller) => void
  readonly logger: () => Logger
}

const OWNER_GONE =
  'The instance that asked is gone, and its call with it. It may have had effects; look before you repeat it.'
const OWNER_UNREACHABLE = 'Another instance asked this, and it cannot be reached from here.'

/** The message as it came, for another instance. */
function bodyOf({ id, result, error, state }: ResponseMessage): Json {
  return { jsonrpc: '2.0', id, result, error, state }
}

export class Answers {
  readonly #options: AnswersOptions

  constructor(options: AnswersOptions) {
    this.#options = options
  }

  /** `sink` is absent where the answer was forwarded here: it is forwarded once. */
  async take(
    message: ResponseMessage,
    caller: Caller,
    request: ClientRequest,
    sink: Sink | undefined,
  ): Promise<HttpReply | undefined> {
    const { pushes, forwarder, peers, revive, logger } = this.#options
    const gone = new Set(request.gone)
    for (;;) {
      const taken = await pushes.take(message, caller, gone)
      switch (taken.kind) {
        case 'settled':
          return { status: 202 }
        case 'revived':
          revive(taken.call, caller)
          return { status: 202 }
        case 'lost':
          logger().warn({}, 'An answer came to a question of an instance that is gone, and its call with it.')
          return refusal(410, OWNER_GONE)
        case 'unreachable':
          logger().warn({}, 'An answer came to a question of another instance, which has no address. Set `advertise`.')
          return refusal(421, OWNER_UNREACHABLE)
        case 'elsewhere': {
          const { instance } = taken
          if (sink === undefined) return refusal(421, OWNER_UNREACHABLE)
          const forwarded = await forwarder.forward(instance, { ...request, body: bodyOf(message), gone }, sink)
          if (forwarded.kind === 'replied') return forwarded.reply
          logger().info({ url: instance.url, why: forwarded.why }, 'The instance that asked a question is gone.')
          peers.lose(instance)
          gone.add(instance.id)
          break
        }
        default:
          return taken satisfies never
      }
    }
  }
}
