/** The messages that SEP-2322 prints for its echo task, with the id of a real task. */
import type { Message, Session } from '../session.ts'
import type { Reasons, Transcript } from '../transcript.ts'

export interface Exchange {
  readonly request: Message
  readonly answer: Message
}

/** The session era has the document's dialect of tasks. A client that declares rounds gets questions as results there. */
export const ROUNDS = { elicitation: {}, experimental: { 'dev.pannier/rounds': {} } }

const NEW = 'Each run has a task id and times of its own. Below, the id is put into the document’s messages, too.'

/** What differs in the message that creates the task. */
export const OWN = {
  'result.task.taskId': NEW,
  'result.task.createdAt': NEW,
  'result.task.lastUpdatedAt': NEW,
} satisfies Reasons

const TIME = 'Each run has times of its own.'
const BESIDE =
  'The document prints _meta beside the result once and inside it elsewhere. Inside is what the protocol has.'

export const REASONS = {
  'result.createdAt': TIME,
  'result.lastUpdatedAt': TIME,
  _meta: BESIDE,
  'result._meta': BESIDE,
} satisfies Reasons

const POLLS = 200

/**
 * Sends the document's message, with another id where one is given; gives the answer. A request for a status is repeated
 * until the status is the document's.
 */
export async function exchange(
  session: Session,
  transcript: Transcript,
  { request, answer }: Exchange,
  id = request['id'],
): Promise<Message> {
  const sent = { ...request, id }
  const wanted = statusOf(answer)
  for (let poll = 0; poll < POLLS; poll++) {
    const received = await session.request(sent)
    if (wanted === undefined || statusOf(received) === wanted) {
      transcript.request(sent, request)
      transcript.answer(received, answer)
      return received
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`the task did not get to ${wanted}.`)
}

/** The document's exchange, about our task. */
export function about(taskId: string, exchange: Exchange): Exchange {
  return JSON.parse(JSON.stringify(exchange).replaceAll(/echo_[0-9a-f-]{36}/g, taskId)) as Exchange
}

export function taskIdIn({ result }: Message): string {
  const { task } = result as { task: { taskId: string } }
  return task.taskId
}

function statusOf({ result }: Message): string | undefined {
  const { status } = (result ?? {}) as { status?: string }
  return status
}
