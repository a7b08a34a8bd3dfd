/** The call of SEP-1685: two questions are pushed on its stream, each answered with its state at any instance. */
import sep from '../../documents/sep1685.json' with { type: 'json' }
import { type Message, type MessageStream, Session } from '../session.ts'

/** No published revision has the top-level state, so a client declares that it echoes it. */
const ECHOES = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }

export const ROUNDS = sep.rounds as readonly { readonly request: Message; readonly response: { result: object } }[]
export const CALL: Message = { jsonrpc: '2.0', id: 1, ...sep.call }

export class PushedCall {
  readonly session: Session
  stream: MessageStream

  private constructor(session: Session, stream: MessageStream) {
    this.session = session
    this.stream = stream
  }

  static async begin(url: string): Promise<PushedCall> {
    const session = await Session.begin(url, ECHOES)
    return new PushedCall(session, await session.open(CALL))
  }

  /** Answers a question at an instance; gives the answer as it was sent. */
  async answer(url: string, { id, state }: Message, result: object): Promise<Message> {
    const message = { jsonrpc: '2.0', id, ...(state !== undefined && { state }), result }
    this.session.url = url
    const { status } = await this.session.post(message)
    if (status !== 202) throw new Error(`the answer was refused with HTTP ${status}.`)
    return message
  }

  /** Comes back to the stream of the call at another instance. */
  async resume(url: string): Promise<void> {
    const lastEventId = this.stream.lastEventId()
    if (lastEventId === undefined) throw new Error('the stream has no event to come back to.')
    this.stream.cut()
    this.session.url = url
    this.stream = await this.session.resume(lastEventId)
  }
}

export function resultText({ result, error }: Message): string {
  const { content } = (result ?? {}) as { content?: { text: string }[] }
  return content?.[0]?.text ?? (error as { message: string }).message
}
