/**
 * Refuses callers who may not use an entry: with the error of an unknown entry, unless a token with more scopes would help.
 */
import type { ProtocolError } from '../../protocol/index.ts'
import type { Principal, ScopeChallenge } from '../auth/authenticator.ts'
import { isScope } from '../auth/scopes.ts'
import type { Call } from '../call.ts'
import { AuthError } from '../errors.ts'
import type { LoggerSlot } from '../logger.ts'
import { type AccessRule, isAllowed, obeysRule } from './access.ts'
import type { ListName, Registry } from './registry.ts'

const MAX_NAMED = 5

export class AccessControl {
  readonly #registry: Registry
  readonly #challenge: ScopeChallenge | undefined
  #hasWarned = false

  /** `challenge`: absent if callers bring no tokens with scopes. */
  constructor(registry: Registry, challenge: ScopeChallenge | undefined) {
    this.#registry = registry
    this.#challenge = challenge
  }

  /** `unknown` gives the error for an entry that does not exist. */
  assertAllowed(rule: AccessRule | undefined, call: Call, unknown: () => ProtocolError): void {
    if (rule === undefined || isAllowed(rule, call.principal)) return
    throw this.#scopeError(rule, call) ?? unknown()
  }

  /** Whether a caller is notified of a resource. One that is not registered may be anything, so it is not hidden. */
  canRead(principal: Principal | undefined, uri: string): boolean {
    return !this.#registry.guardsResources || obeys(this.#registry.findResource(uri)?.entry.access, principal)
  }

  /** Whether a caller is notified of a change of this entry. */
  canSee(principal: Principal | undefined, list: ListName, entry: string): boolean {
    return obeys(this.#registry.ruleOf(list, entry), principal)
  }

  /**
   * For subscriptions: throws only if another token would help. Else the client is never notified, as for a resource
   * that does not exist.
   */
  assertWatchable(call: Call, uri: string): void {
    if (this.canRead(call.principal, uri)) return
    const rule = this.#registry.findResource(uri)?.entry.access
    const error = rule && this.#scopeError(rule, call)
    if (error !== undefined) throw error
  }

  /** Warns, once, of entries that need scopes, on hosts that do not identify their callers: these have no scopes. */
  warnOfScopes(logger: LoggerSlot, remedy: string): void {
    const { scoped } = this.#registry
    if (this.#hasWarned || scoped.length === 0) return
    this.#hasWarned = true
    const which = `${scoped.slice(0, MAX_NAMED).join(', ')}${scoped.length > MAX_NAMED ? ' and others' : ''}`
    const sentence = `What needs scopes (${which}) is hidden from all callers, because this server does not know who they are: ${remedy}`
    logger.warnOfSetup('PANNIER_NO_PRINCIPAL', sentence)
  }

  /** Only with bearer tokens, and if a token with more scopes would be enough. */
  #scopeError(rule: AccessRule, { principal, header }: Call): AuthError | undefined {
    if (this.#challenge === undefined || header === undefined || principal === undefined) return undefined
    if (!obeysRule(rule, principal)) return undefined
    const sentence = `This needs an access token with the scopes: ${rule.scopes.join(' ')}.`
    // Together with the scopes it has, because session-era clients request exactly the scopes of the challenge.
    const scopes = [...(principal.scopes ?? []).filter(isScope), ...rule.scopes]
    return new AuthError('AUTH_SCOPE', sentence, { challenge: this.#challenge(scopes, sentence) })
  }
}

/** For notifications: a rule that throws hides the entry. Calls fail with its error. */
function obeys(rule: AccessRule | undefined, principal: Principal | undefined): boolean {
  try {
    return isAllowed(rule, principal)
  } catch {
    return false
  }
}
