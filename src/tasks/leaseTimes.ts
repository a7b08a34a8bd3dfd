/**
 * The times of a lease, as shares of `leaseMs` from the moment in which its last renewal was sent:
 *
 *     0      1/6                                     3/4             13/16           15/16
 *     sent   the next renewal, and after failures    its run is      others may      they have noticed
 *            further ones until 3/4                  aborted         claim it        that, and claimed it
 *
 * So an outage of the database costs no lease if it is over within 7/12 of `leaseMs`, and a run has the time from 3/4 to
 * 13/16 to notice that it is aborted before the next one begins.
 */

/** The default of `leaseMs`. */
export const LEASE_MS = 15_000

const RENEW_SHARE = 1 / 6
const RUN_SHARE = 3 / 4
const HOLD_SHARE = 13 / 16
const POLL_SHARE = 1 / 8
const MAX_POLL_MS = 1000
const RETRY_SHARE = 1 / 64
const MAX_RETRY_MS = 250
// A shorter timeout would also hit a busy process or database.
const ATTEMPT_SHARE = 1 / 12
const MIN_ATTEMPT_MS = 250

export interface LeaseTimes {
  /** Time after a renewal until others may claim the task or caller, by the database's clock. */
  readonly holdMs: number
  /** Time after a renewal at which the run is aborted, by the clock of its process. */
  readonly runMs: number
  readonly renewMs: number
  /** The pause after a failed renewal. */
  readonly retryMs: number
  /** Timeout of a renewal: its connection may be dead. */
  readonly attemptMs: number
}

export function leaseTimes(leaseMs: number): LeaseTimes {
  return {
    holdMs: leaseMs * HOLD_SHARE,
    runMs: leaseMs * RUN_SHARE,
    renewMs: leaseMs * RENEW_SHARE,
    retryMs: Math.min(leaseMs * RETRY_SHARE, MAX_RETRY_MS),
    attemptMs: Math.max(leaseMs * ATTEMPT_SHARE, MIN_ATTEMPT_MS),
  }
}

/** Interval at which a worker checks whether tasks of others can be claimed. */
export function pollInterval(leaseMs: number): number {
  return Math.min(leaseMs * POLL_SHARE, MAX_POLL_MS)
}
