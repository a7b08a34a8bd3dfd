/** What of a run depends on who calls: which claims it shares, and what it may approve. */
import type { SharedClaims } from '../../journal/index.ts'
import type { Ledger } from '../../state/stores/index.ts'
import type { Approval } from '../auth/approval.ts'
import type { Call } from '../call.ts'
import { knownCaller } from '../limits/quotaCaller.ts'
import type { RunSetup } from './runHandler.ts'

export interface SharedClaimsOptions {
  readonly ledger: Ledger
  /** The audience of the server's seals: several servers may have one ledger. */
  readonly audience: string
}

/** Claims that all calls of this caller to this tool share. */
export function sharedClaims(call: Call, name: string, { ledger, audience }: SharedClaimsOptions): SharedClaims {
  const { principal, method } = call
  return {
    ledger,
    scope: () => [audience, principal?.id ?? null, method, name],
    caller: () => knownCaller(call),
  }
}

/** Questions that name who may answer, where the caller of a run may be one of those. */
export function callersApproval(
  caller: () => Pick<Call, 'principal'>,
  { approval }: { readonly approval: Approval | undefined },
): Pick<RunSetup, 'approverId'> {
  if (approval === undefined) return {}
  return {
    approverId: (approvers) => {
      const { principal } = caller()
      return approval.includes(approvers, principal, true) ? principal?.id : undefined
    },
  }
}
