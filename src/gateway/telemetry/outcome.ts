/** What was called, and how it ended, as logs, metrics, the audit log and the console name it. */

/** `asked`: the caller has to answer first. `refused`: the request is invalid, over a limit, or lacks credentials. */
export type CallOutcome = 'complete' | 'asked' | 'failed' | 'refused' | 'cancelled'

export interface CallTarget {
  readonly server: string
  /** The name of a tool or prompt; undefined for resources. */
  readonly name: string | undefined
  /** Whether the server lists it; otherwise the caller chose the name. */
  readonly isListed: boolean
}
