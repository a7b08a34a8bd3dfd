import type { RawResponse } from './responseReader.ts'
import { echoText, httpRequest, type Retry, toolCall } from './messages.ts'
import { type Script, WrongResponse } from './script.ts'

/**
 * An elicitation in two rounds: the first response has a question and a state; the second request has the answer and
 * the state, and completes. The second request is made from the first response, as a client does it.
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

  take(response: RawResponse): boolean {
    const message = response.status === 200 ? JSON.parse(response.body) : {}
    if (message.id !== this.#id) throw new WrongResponse(`a response to request ${this.#id}`, response)
    if (this.#retry === undefined) {
      this.#retry = answerQuestion(message.result, response)
      return false
    }
    this.#retry = undefined
    if (message.result?.content?.[0]?.text !== echoText(this.#flow()))
      throw new WrongResponse('a completed elicitation', response)
    return true
  }

  reset(): void {
    this.#retry = undefined
    this.#id += this.#id % 2
  }

  /** Both requests of an elicitation have the same arguments, so they share a number. */
  #flow(): number {
    return (this.#id + 1) >> 1
  }
}

function answerQuestion(result: Record<string, unknown> | undefined, response: RawResponse): Retry {
  const [key] = Object.keys(result?.['inputRequests'] ?? {})
  const requestState = result?.['requestState']
  if (result?.['resultType'] !== 'input_required' || key === undefined || typeof requestState !== 'string') {
    throw new WrongResponse('input_required with a state', response)
  }
  return { requestState, inputResponses: { [key]: { action: 'accept', content: { ok: true } } } }
}
