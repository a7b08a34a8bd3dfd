/** Access to an entry: the scopes that it needs, its rule, or both. */
import type { Principal } from '../auth/authenticator.ts'
import { assertScopes } from '../auth/scopes.ts'
import type { OptionNames } from '../../protocol/index.ts'

export interface AccessOptions {
  /** The scopes that a caller needs, all of them. @default none */
  scopes?: readonly string[]
  /**
   * Whether this caller may see and use it; an anonymous caller is undefined. Called for each list and each call, so it
   * must be quick, and it cannot wait. @default everyone may
   */
  allow?: (principal: Principal | undefined) => boolean
}

export const ACCESS_OPTIONS: OptionNames<AccessOptions> = { scopes: true, allow: true }

export interface AccessRule {
  readonly scopes: readonly string[]
  readonly allow: ((principal: Principal | undefined) => boolean) | undefined
}

/** The rule of an entry; undefined when everyone may use it. */
export function accessRule({ scopes = [], allow }: AccessOptions, what: string): AccessRule | undefined {
  if (typeof scopes === 'string') throw new TypeError(`The scopes of the ${what} must be a list.`)
  assertScopes(scopes)
  if (allow !== undefined && typeof allow !== 'function')
    throw new TypeError(`The allow rule of the ${what} must be a function of the principal.`)
  if (allow?.constructor.name === 'AsyncFunction')
    throw new TypeError(`The allow rule of the ${what} cannot be async: it must return true or false at once.`)
  return scopes.length === 0 && allow === undefined ? undefined : { scopes: [...scopes], allow }
}

export function isAllowed(rule: AccessRule | undefined, principal: Principal | undefined): boolean {
  return (
    rule === undefined ||
    (rule.scopes.every((scope) => principal?.scopes?.includes(scope)) && obeysRule(rule, principal))
  )
}

/** A promise would count as true, so that an async rule would let everybody in. */
export function obeysRule({ allow }: AccessRule, principal: Principal | undefined): boolean {
  const verdict: unknown = allow === undefined ? true : allow(principal)
  if (typeof verdict === 'boolean') return verdict
  if (verdict instanceof Promise) verdict.catch(() => {}) // an unhandled rejection would end the process
  throw new TypeError('An allow rule must return true or false, and not a promise.')
}
