/** A call in rounds by hand: what it sent and got, with the state of each answer carried to the next request. */
import { type AnswerMessage, enveloped, type RequestMessage, send } from './modern.ts'

export interface Round {
  readonly sent: RequestMessage
  readonly received: AnswerMessage
}

export interface ModernCall {
  /** Sends the next round to an instance. */
  round(url: string, answers?: Readonly<Record<string, unknown>>): Promise<Round>
}

/** `inputResponses` of a person who fills in forms. */
export function accept(content: object): { action: 'accept'; content: object } {
  return { action: 'accept', content }
}

export function modernCall(name: string, args: object, capabilities: object): ModernCall {
  let id = 0
  let requestState: unknown
  return {
    async round(url, inputResponses) {
      const carried = { ...(inputResponses && { inputResponses }), ...(requestState !== undefined && { requestState }) }
      const params = { name, arguments: args, ...carried }
      const sent = enveloped({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params }, capabilities)
      const received = await send(url, sent)
      if (received.error) throw new Error(`the call was answered with an error: ${received.error.message}`)
      requestState = received.result?.['requestState']
      return { sent, received }
    },
  }
}

/** The text of a result. */
export function textOf({ result }: AnswerMessage): string {
  const [content] = (result?.['content'] ?? []) as { text?: string }[]
  return content?.text ?? ''
}
