/** What an audit log says of a call. A member that is not known, or does not apply, is absent. */
import type { Json } from '../protocol/index.ts'

/** Who acted: a subject, and the issuer of the token that names it. */
export interface AuditCaller {
  readonly subject?: string
  readonly issuer?: string
  readonly client?: string
}

/** The call that an entry is about. */
export interface AuditedCall {
  /** The JSON-RPC id, as the client chose it. */
  readonly id?: string | number
  readonly method: string
  /** The path of the gateway's address. */
  readonly route: string
  readonly server: string
  /** The name of the tool or prompt at its server. */
  readonly name?: string
  /** Absent for an anonymous caller. */
  readonly caller?: AuditCaller
  /** A digest of the arguments: equal arguments have equal digests. */
  readonly argumentsDigest?: string
  /** The arguments themselves, if the settings require them. */
  readonly arguments?: Json
  /** The trace id that all entries of one call share. */
  readonly traceId?: string
}

/** A call that has ended, or a round of it. */
export interface CallEntry extends AuditedCall {
  readonly kind: 'call'
  readonly outcome: 'complete' | 'asked' | 'failed' | 'refused' | 'cancelled'
  readonly error?: string
  readonly ms: number
  /** Whether it is a later round of a call that asked. */
  readonly isLaterRound?: true
}

/** A rule that denied a call or made it wait, or a dry run of such a rule. */
export interface DecidedEntry extends AuditedCall {
  readonly kind: 'decision'
  readonly rule: string
  readonly outcome: 'deny' | 'approve'
  /** Whether the rule is in a dry run, which only reports its decision. */
  readonly dryRun?: true
  /** Why the rule could not be decided. */
  readonly failure?: string
}

/** Who answered a question, and where. */
export interface AuditedAnswer {
  readonly answeredBy?: AuditCaller
  /** Where it was answered: in the client of the call, on a page, or by a program. */
  readonly way?: string
  /** The id of the question; absent where it was asked in the client of the call. */
  readonly question?: string
}

/** What was answered to a question of a server. The answer itself is in no entry. */
export interface AnswerEntry extends AuditedCall, AuditedAnswer {
  readonly kind: 'answer'
  /** `accept`, `decline` or `cancel`. */
  readonly action: string
}

/** What a person decided over a call that a rule wanted to be approved. */
export interface ApprovalEntry extends AuditedCall, AuditedAnswer {
  readonly kind: 'approval'
  readonly rule: string
  readonly outcome: 'approved' | 'declined'
}

/** A change that a person made, or tried to make, in the console. */
export interface ConsoleEntry {
  readonly kind: 'console'
  /** The change, such as `definitions.accept`. */
  readonly action: string
  /** What was changed. */
  readonly subject: string
  readonly outcome: 'done' | 'refused' | 'failed'
  readonly role: string
  /** Absent for the holder of the token that the gateway printed. */
  readonly caller?: AuditCaller
}

export type AuditEntry = CallEntry | DecidedEntry | ApprovalEntry | AnswerEntry | ConsoleEntry
