/**
 * Rounds of a session-era caller whose call is parked, here or in another gateway: its questions are asked on the
 * caller's stream. A call that is cancelled or not answered is also cancelled at its server, unless another gateway has
 * it by now.
 */
import type { Json } from '../../../protocol/index.ts'
import type { Call, MethodParts } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import { cancelParked } from '../../parking/parkedRounds.ts'
import { questionsOr } from '../relayedCall.ts'

export interface CallInPlace {
  readonly call: Call
  readonly backend: Backend
  readonly name: string
  /** The arguments, as the server gets them. */
  readonly args: unknown
  /** Runs one round with its state and answers; the first has none. */
  readonly round: (brought: Json) => Promise<Json>
  readonly finish: (result: Json) => Json
}

/** Returns the text of the result. */
export async function runInPlace(parts: MethodParts, inPlace: CallInPlace): Promise<string> {
  const { call, backend, name, args, round, finish } = inPlace
  let asked: Json = {}
  try {
    return await parts.rounds.run<Json>(call, {
      subject: { name: `${backend.name} ${name}`, args: call.params },
      invoke: async ({ requestState, inputResponses }) => {
        asked = await round(requestState === undefined ? {} : { requestState, inputResponses })
        return questionsOr(asked)
      },
      finish,
    })
  } catch (error) {
    const { requestState } = asked
    const params = { ...call.params, requestState }
    if (requestState !== undefined && !call.channel.isHandedOff)
      void cancelParked(parts, { ...call, params }, inPlace, args)
    throw error
  }
}
