/** The rules of a configuration, as they stand in the file. */

/** A rule of `allow` or `deny`. */
export interface CallRule {
  /** A CEL expression over `principal`, `server`, `view`, `tool` and `args`. @default none: it is required */
  readonly if: string
  /** The sentence that the caller reads. @default names the rule */
  readonly reason?: string
  /** Whether the rule only logs its decision. @default false */
  readonly dryRun?: boolean
}

/** A rule of `approve`: the call waits until another person has approved it. */
export interface ApprovalRule extends CallRule, ApprovalTerms {}

export interface ApprovalTerms {
  /** Who may approve, such as `role:manager`; one name or several. @default none: it is required */
  readonly by: string | readonly string[]
  /** Whether the caller may not approve their own call. @default false */
  readonly fourEyes?: boolean
  /** How long the question stays open, such as `15m`. @default '1h' */
  readonly for?: string
  /** The arguments that the approver sees. @default all of them */
  readonly show?: readonly string[]
}

export interface RuleSettings {
  readonly deny?: readonly CallRule[]
  readonly allow?: readonly CallRule[]
  readonly approve?: readonly ApprovalRule[]
  readonly dryRun?: boolean
}
