import type { RawResponse } from './responseReader.ts'
import { echoText, httpRequest, type Retry, toolCall } from './messages.ts'
import { type Script, WrongResponse } from './script.ts'

/**
 * The two-round flow: the call is answered with a question and a state; the retry brings both back and completes.
 * The second request is made from the first answer, as a client does it.
 */
export class ConfirmScript implements Script {
  #port: number
  #id: number
  #retry: Retry | undefined

  constructor(port: number, start: number) {
    this.#port = port
    this.#id = start * 100_000
  }

  next(): string {
    this.#id++
    const text = echoText(this.#flow())
    return httpRequest(this.#port, 'confirm', toolCall(this.#id, 'confirm', { text }, this.#retry))
  }

  take(answer: RawResponse): boolean {
    const message = answer.status === 200 ? JSON.parse(answer.body) : {}
    if (message.id !== this.#id) throw new WrongResponse(`an answer to request ${this.#id}`, answer)
    if (this.#retry === undefined) {
      this.#retry = answerQuestion(message.result, answer)
      return false
    }
    this.#retry = undefined
    if (message.result?.content?.[0]?.text !== echoText(this.#flow()))
      throw new WrongResponse('a completed flow', answer)
    return true
  }

  reset(): void {
    this.#retry = undefined
    this.#id += this.#id % 2
  }

  /** Both requests of a flow carry the same arguments, so they must share a number. */
  #flow(): number {
    return (this.#id + 1) >> 1
  }
}

function answerQuestion(result: Record<string, unknown> | undefined, answer: RawResponse): Retry {
  const [key] = Object.keys(result?.['inputRequests'] ?? {})
  const requestState = result?.['requestState']
  if (result?.['resultType'] !== 'input_required' || key === undefined || typeof requestState !== 'string') {
    throw new WrongResponse('input_required with a state', answer)
  }
  return { requestState, inputResponses: { [key]: { action: 'accept', content: { ok: true } } } }
}
