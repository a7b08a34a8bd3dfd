/** What the console does not do, with the reason for the person at the page. */
import type { Json } from '../../../protocol/index.ts'
import type { ConsoleReply } from './types.ts'

/** A refusal, for the person at the page. */
export class RefusedError extends Error {
  readonly refusal: { readonly status: number; readonly error: string }

  constructor(status: number, sentence: string) {
    super(sentence)
    this.refusal = { status, error: sentence }
  }
}

/** What was answered. Throws RefusedError. */
export function valueOf(reply: ConsoleReply): Json {
  if ('refused' in reply) throw new RefusedError(reply.refused.status, reply.refused.error)
  return reply.value
}
