import type { InputRequest } from '@modelcontextprotocol/client'
import { type Form, formRequest } from './questions.ts'

/** What a handler in explicit style returns to ask: the requests, and what it wants to have remembered. */
export class InputRequired {
  readonly inputRequests: ReadonlyMap<string, InputRequest>
  readonly requestState: unknown

  constructor(inputRequests: ReadonlyMap<string, InputRequest>, requestState: unknown) {
    this.inputRequests = inputRequests
    this.requestState = requestState
  }
}

export interface InputRequiredOptions {
  /** Forms, or input requests as they go over the wire. */
  inputRequests?: Readonly<Record<string, Form | InputRequest>>
  /** Any JSON. It is sealed, travels with the client, and comes back as `ctx.requestState`. */
  requestState?: unknown
}

export function inputRequired({ inputRequests = {}, requestState }: InputRequiredOptions): InputRequired {
  const requests = new Map(
    Object.entries(inputRequests).map(([key, ask]) => [key, 'method' in ask ? ask : formRequest(ask)] as const),
  )
  if (requests.size === 0 && requestState === undefined) {
    throw new TypeError('inputRequired needs at least one of inputRequests and requestState.')
  }
  return new InputRequired(requests, requestState)
}
