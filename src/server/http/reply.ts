import { errorMessage } from '../results.ts'

/** A whole HTTP answer, as every host can give it. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** A JSON message. */
  readonly body?: string
}

/** A request that is turned away before anybody has read it. */
export function refusal(status: number, message: string): Reply {
  return { status, body: errorMessage(undefined, { code: -32600, message, status }) }
}
