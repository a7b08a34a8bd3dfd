/**
 * Rounds that are answered partly by answerers and partly by the client. That happens where the client speaks the
 * stateless revision and itself declared kinds that have no answerer. The client gets a round with its own questions
 * only, and a state of ours that holds the server's state and the answers that are there already. Its retry brings this
 * state back, and the round is put together here. So nothing is kept in memory in between, and the server sees one round.
 */
import { declaresAll, isObject, type Json, META, neededCapability } from '../../protocol/index.ts'
import { metaIn, paramsOf } from '../layer/message.ts'
import type { WireMessage } from '../layer/transport.ts'
import type { Questions } from '../questions/inputRequests.ts'

interface SharedState {
  readonly answers: Readonly<Record<string, Json>>
  /** The server's, exactly as it came. */
  readonly requestState?: string
}

export class SharedRounds {
  /** No server ever sees this prefix, so no server can make a state that is taken for ours. */
  readonly #prefix = `pannier-shared:${crypto.randomUUID()}:`

  /** The round as the client gets it: with its own questions, and all other answers in the state. */
  share(result: Json, theirs: Questions, answers: SharedState['answers'], requestState: string | undefined): Json {
    const state: SharedState = { answers, ...(requestState !== undefined && { requestState }) }
    return { ...result, inputRequests: Object.fromEntries(theirs), requestState: this.#prefix + JSON.stringify(state) }
  }

  /** A request as the server gets it. */
  whole<Request extends WireMessage>(request: Request): Request {
    const { requestState } = paramsOf(request)
    if (typeof requestState !== 'string' || !requestState.startsWith(this.#prefix)) return request
    const { requestState: _, inputResponses, ...others } = paramsOf(request)
    const state = JSON.parse(requestState.slice(this.#prefix.length)) as SharedState // what `share` wrote
    const params = {
      ...others,
      inputResponses: { ...(isObject(inputResponses) && inputResponses), ...state.answers },
      ...(state.requestState !== undefined && { requestState: state.requestState }),
    }
    return { ...request, params }
  }
}

/** Whether the sender of a request declared the kinds of all these questions itself, in the request's envelope. */
export function declaresKinds(params: Json, questions: Questions): boolean {
  const capabilities = metaIn(params)[META.capabilities]
  return (
    isObject(capabilities) && questions.every(([, request]) => declaresAll(capabilities, neededCapability(request)))
  )
}
