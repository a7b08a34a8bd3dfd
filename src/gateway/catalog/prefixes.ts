/**
 * What the names of a server begin with: `github` in `github_search`.
 *
 * - The prefixes follow from the configured names alone, in whatever order, so they are the same whichever servers are up.
 * - No prefix with its separator is the beginning of another with its own. So `a_b_c` belongs to one server: where
 *   there are servers `a` and `a_b`, the prefix of the second is `a-b`.
 * - A prefix that the configuration gives is used as it is.
 */
import { hash } from 'node:crypto'
import { PrefixIndex, SEPARATOR } from './prefixIndex.ts'

/** A server as far as its names depend on it. */
export interface NamedServer {
  readonly name: string
  /** False for none. @default made from the name */
  readonly prefix?: string | false
}

/** The specification allows 128; models' interfaces allow 64. */
export const MAX_NAME = 64
const MAX_PREFIX = 32
const DIGEST_DIGITS = 6

/** The prefix of each server that has one, by its name. */
export function prefixesOf(servers: readonly NamedServer[]): ReadonlyMap<string, string> {
  const prefixes = new Map<string, string>()
  const taken = new PrefixIndex<string>()
  const claim = (name: string, prefix: string): void => {
    prefixes.set(name, prefix)
    taken.add(prefix, name)
  }
  for (const { name, prefix } of servers) if (typeof prefix === 'string') claim(name, prefix)
  const isFree = (prefix: string): boolean => taken.clashing(prefix) === undefined
  const others = servers.filter(({ prefix }) => prefix === undefined)
  const claims = others.map(({ name }): PrefixClaim => ({ name, base: plain(name) })).toSorted(byPrecedence)
  for (const each of claims) claim(each.name, freePrefix(each, isFree))
  return prefixes
}

/** A server whose prefix is made from its name, and that name in plain characters. */
interface PrefixClaim {
  readonly name: string
  readonly base: string
}

/** Names that need no change come first, and the shorter before the longer. */
function byPrecedence(a: PrefixClaim, b: PrefixClaim): number {
  const changed = Number(a.base !== a.name) - Number(b.base !== b.name)
  return changed || a.base.length - b.base.length || (a.name < b.name ? -1 : 1)
}

/** The best prefix that is free. */
function freePrefix({ name, base }: PrefixClaim, isFree: (prefix: string) => boolean): string {
  const dashed = base.replaceAll(SEPARATOR, '-')
  if (isFree(base)) return base
  let candidate = dashed
  for (let attempt = 0; !isFree(candidate); attempt++) {
    const digest = hash('sha256', JSON.stringify([attempt, name]), 'hex').slice(0, DIGEST_DIGITS)
    candidate = `${dashed.slice(0, MAX_PREFIX - DIGEST_DIGITS - 1)}-${digest}`
  }
  return candidate
}

/** A name in characters that every client takes. */
function plain(name: string): string {
  const fitting = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[-_]+|[-_]+$/g, '')
  return (fitting || 'server').slice(0, MAX_PREFIX)
}

/** Why a text cannot be a prefix. */
export function prefixFault(prefix: string): string | undefined {
  const rule = `must be 1 to ${MAX_PREFIX} of the characters A-Z, a-z, 0-9, _ and -, or false for none.`
  return prefix.length <= MAX_PREFIX && /^[\w-]+$/.test(prefix) ? undefined : rule
}

/** Why a text cannot be the name of a tool. */
export function nameFault(name: string): string | undefined {
  const rule = `must be 1 to ${MAX_NAME} of the characters A-Z, a-z, 0-9, _, - and the dot.`
  return isName(name) ? undefined : rule
}

/** Tools, "Tool Names": the characters that the specification allows; the length that models' interfaces allow. */
export function isName(name: string): boolean {
  return name.length <= MAX_NAME && /^[\w.-]+$/.test(name)
}
