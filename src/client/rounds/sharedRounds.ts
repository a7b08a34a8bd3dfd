/**
 * Rounds of which the client answers a part: it speaks the stateless revision, and declared kinds itself that there is
 * no answerer for. It gets a round with its own questions alone, and a state of ours: in that lie the server's state and
 * the answers that are there already. Its retry brings them back, and here the round is made whole. So nothing has to be
 * remembered in between, and the server sees one round.
 */
import { randomUUID } from 'node:crypto'
import { declaresAll, isObject, type Json, META, neededCapability } from '../../protocol/index.ts'
import type { InputRequired } from '../questions/inputRequests.ts'
import type { WireMessage } from '../layer/transport.ts'
import { metaIn, paramsOf } from '../layer/message.ts'

type Questions = InputRequired['questions']
type Answers = Readonly<Record<string, Json>>

interface Held {
  readonly answers: Answers
  /** The server's, exactly as it came. */
  readonly requestState?: string
}

export class SharedRounds {
  /** No server ever sees it, so none can give a state that passes for ours. */
  readonly #mark = `pannier-shared:${randomUUID()}:`

  /** The round as the client gets it: with its own questions, and the answers to all others in the state. */
  share(result: Json, theirs: Questions, answers: Answers, requestState: string | undefined): Json {
    const held: Held = { answers, ...(requestState !== undefined && { requestState }) }
    return { ...result, inputRequests: Object.fromEntries(theirs), requestState: this.#mark + JSON.stringify(held) }
  }

  /** A request as the server gets it. */
  whole<Request extends WireMessage>(request: Request): Request {
    const { requestState } = paramsOf(request)
    if (typeof requestState !== 'string' || !requestState.startsWith(this.#mark)) return request
    const { requestState: _, inputResponses, ...others } = paramsOf(request)
    const held = JSON.parse(requestState.slice(this.#mark.length)) as Held // what `share` wrote
    const params = {
      ...others,
      inputResponses: { ...(isObject(inputResponses) && inputResponses), ...held.answers },
      ...(held.requestState !== undefined && { requestState: held.requestState }),
    }
    return { ...request, params }
  }
}

/** Whether the sender of a request declared all these kinds itself, in its envelope. */
export function declares(params: Json, questions: Questions): boolean {
  const capabilities = metaIn(params)[META.capabilities]
  return (
    isObject(capabilities) && questions.every(([, request]) => declaresAll(capabilities, neededCapability(request)))
  )
}
