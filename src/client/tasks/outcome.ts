/** What a caller is answered when its task is not followed any further. */
import type { Questioner } from '../questions/dispatcher.ts'
import type { SavedPlace } from '../suspend/savedCall.ts'
import { suspendCall } from '../suspend/suspend.ts'
import type { TaskCall } from './call.ts'
import type { Outcome } from './poller.ts'
import { ticketText } from './ticket.ts'
import type { WireMessage } from '../layer/transport.ts'
import { resultMessage } from '../layer/message.ts'

export interface Whereabouts {
  readonly questioner: Questioner
  readonly place: SavedPlace | undefined
}

/** The answer. Where it is not the last word, the caller goes on with it from a ticket. */
export async function answerFor(
  call: TaskCall,
  taskId: string,
  outcome: Outcome,
  { questioner, place }: Whereabouts,
): Promise<WireMessage> {
  const requestState = ticketText(call.ticket ?? { taskId, isWatch: false })
  switch (outcome.kind) {
    case 'completed':
      return resultMessage(call.id, outcome.result)
    case 'failed':
      return { jsonrpc: '2.0', id: call.id, error: outcome.error }
    case 'asks': {
      const inputRequests = Object.fromEntries(outcome.questions)
      return resultMessage(call.id, { resultType: 'input_required', inputRequests, requestState })
    }
    case 'suspended': {
      const { open, answers } = outcome.round
      const { server } = questioner
      const round = { open, inputResponses: answers, requestState, server, place }
      return resultMessage(call.id, await suspendCall({ method: 'tools/call', params: call.params, ...round }))
    }
    default:
      return outcome satisfies never
  }
}
