/** Who may answer a question that names its approvers: `by` of a form, held against the principals of a server. */
import type { Approvers } from '../../journal/index.ts'
import type { Principal } from './authenticator.ts'

/** Whether a principal matches `by` of a question. */
export type Approves = (principal: Principal, by: string) => boolean

export class Approval {
  readonly #approves: Approves

  constructor(approves: Approves = hasClaim) {
    this.#approves = approves
  }

  /** `isCaller`: whether this is who made the call. Anonymous callers are never approvers. */
  includes({ by, fourEyes }: Approvers, principal: Principal | undefined, isCaller: boolean): boolean {
    // Each is held against the rule, so that a mistake in one shows also where another fits.
    const fits = principal !== undefined && by.map((each) => this.#fits(principal, each)).includes(true)
    return fits && !(isCaller && fourEyes)
  }

  /** A promise would count as true, so that an async rule would let everybody approve. */
  #fits(principal: Principal, by: string): boolean {
    const verdict: unknown = this.#approves(principal, by)
    if (typeof verdict === 'boolean') return verdict
    throw new TypeError('The "approves" rule must return true or false, and not a promise.')
  }
}

/**
 * Names that read several claims, because issuers write them in singular or plural. Any other name reads the claim of
 * that name.
 */
const CLAIMS: Readonly<Record<string, readonly string[]>> = { role: ['role', 'roles'], group: ['group', 'groups'] }

/** `name:value`: the principal's claim of this name is exactly this value, or a list that has it. */
export function hasClaim({ id, subject, scopes, claims = {} }: Principal, by: string): boolean {
  const colon = by.indexOf(':')
  const [name, value] = [by.slice(0, colon), by.slice(colon + 1)]
  if (colon < 1 || value === '') throw new TypeError(`"${by}" is not an approver: write "role:manager" or "sub:ann".`)
  switch (name) {
    case 'id':
      return id === value
    case 'sub':
      return subject === value
    case 'scope':
      return scopes?.includes(value) ?? false
    default: {
      const names = Object.hasOwn(CLAIMS, name) ? (CLAIMS[name] ?? []) : [name]
      return names.some((claim) => Object.hasOwn(claims, claim) && holds(claims[claim], value))
    }
  }
}

function holds(claim: unknown, value: string): boolean {
  return Array.isArray(claim) ? claim.includes(value) : claim === value
}
