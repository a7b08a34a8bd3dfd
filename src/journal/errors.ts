import { CodedError } from '../protocol/index.ts'

/** The codes of the errors that a handler can get while it runs over its journal. */
export const JOURNAL_CODES = [
  'APPROVER_ELSEWHERE',
  'APPROVER_UNKNOWN',
  'ASK_DECLINED',
  'ASK_EXHAUSTED',
  'ASK_IN_STEP',
  'AWAIT_MISSING',
  'KEY_INVALID',
  'KEY_REUSED',
  'STEP_NOT_STORABLE',
  'ONCE_UNSETTLED',
  'SCOPE_CLOSED',
  'JOURNAL_UNREADABLE',
  'ROUNDS_EXHAUSTED',
] as const

export type JournalCode = (typeof JOURNAL_CODES)[number]

/** A mistake of a handler, or an answer that did not come. */
export class JournalError extends CodedError<JournalCode> {
  override readonly name: string = 'JournalError'
}

/** The user declined or cancelled a question, or the client did so for them. */
export class Declined extends JournalError {
  override readonly name = 'Declined'
  /** The key of the question. */
  readonly key: string
  readonly action: 'decline' | 'cancel'

  constructor(key: string, action: 'decline' | 'cancel') {
    super('ASK_DECLINED', `The question "${key}" was ${action === 'decline' ? 'declined' : 'cancelled'}.`)
    this.key = key
    this.action = action
  }
}

/** A run was used after its request had been answered. A server may ask only while it handles a request (SEP-2260). */
export class ScopeClosed extends JournalError {
  override readonly name = 'ScopeClosed'

  constructor(what: string) {
    super(
      'SCOPE_CLOSED',
      `${what} came after its request had ended. A server may ask a client only while it handles a request of that ` +
        'client: use ctx inside the handler and await the result there, or let the client call a tool that asks.',
    )
  }
}
