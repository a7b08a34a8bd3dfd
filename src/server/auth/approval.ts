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
    // Each is held against the rule, so that a mistake in one shows also if another fits.
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
      return names.some((claim) => Object.hasOwn(claims, claim) && [claims[claim]].flat().includes(value))
    }
  }
}

/** The names that `hasClaim` accepts for a principal: who one is first, then roles and groups, then everything else. */
export function namesOf({ id, subject, scopes = [], claims = {} }: Principal): readonly string[] {
  const own = [`id:${id}`, ...(subject === undefined ? [] : [`sub:${subject}`])]
  const aliases = Object.entries(CLAIMS).flatMap(([name, from]) =>
    from.flatMap((claim) => textsIn(claims, claim).map((value) => `${name}:${value}`)),
  )
  const others = Object.keys(claims)
    .filter((name) => !OWN_NAMES.has(name))
    .flatMap((name) => textsIn(claims, name).map((value) => `${name}:${value}`))
  return [...new Set([...own, ...aliases, ...scopes.map((scope) => `scope:${scope}`), ...others])]
}

/** The values of `role` or `group` that `hasClaim` accepts. */
export function namedBy({ claims = {} }: Principal, name: 'role' | 'group'): readonly string[] {
  return (CLAIMS[name] ?? []).flatMap((claim) => textsIn(claims, claim))
}

/** Claims of these names say nothing: the names mean other members of a principal. */
const OWN_NAMES: ReadonlySet<string> = new Set(['id', 'sub', 'scope'])

function textsIn(claims: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const value: unknown = Object.hasOwn(claims, name) ? claims[name] : undefined
  return (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string')
}
