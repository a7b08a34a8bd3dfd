/** What a handler can meet while it runs over its journal. */
export const JOURNAL_CODES = [
  'ASK_DECLINED',
  'ASK_EXHAUSTED',
  'ASK_IN_STEP',
  'KEY_INVALID',
  'KEY_REUSED',
  'STEP_NOT_STORABLE',
  'ONCE_UNSETTLED',
  'SCOPE_CLOSED',
  'JOURNAL_UNREADABLE',
  'ROUNDS_EXHAUSTED',
] as const

export type JournalCode = (typeof JOURNAL_CODES)[number]

export class JournalError extends Error {
  override readonly name: string = 'JournalError'
  readonly code: JournalCode

  constructor(code: JournalCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The person (or the client for them) said no. */
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

/** Asking belongs to a client's request (SEP-2260); this one is over. */
export class ScopeClosed extends JournalError {
  override readonly name = 'ScopeClosed'

  constructor(what: string) {
    super(
      'SCOPE_CLOSED',
      `${what} came after its request had ended. A server may ask a client only while it handles that client's ` +
        'request: do it inside the handler and await it there, or let the client call a tool that asks.',
    )
  }
}
