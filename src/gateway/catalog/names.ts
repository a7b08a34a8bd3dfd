/**
 * Names of tools and prompts of many servers behind one endpoint: `github_search`.
 *
 * - Names are unique, and a name alone identifies its server, without any list.
 * - It also contains the server's own name of the tool, unless that was too long or had other characters. Such a name
 *   is cut and ends with a digest of the original, which only the server's list can resolve.
 * - Prefixes depend on the configured names alone, in any order, and not on which servers are up. A configured prefix
 *   is used unchanged.
 * - No prefix with its separator begins another prefix with its separator, so `a_b_c` belongs to exactly one server:
 *   with servers `a` and `a_b`, the prefix of the second is `a-b`.
 */
import { hash } from 'node:crypto'

export type ResolvedName =
  | { readonly kind: 'name'; readonly server: string; readonly name: string }
  /** `matches` recognizes the server's own name in its list. */
  | { readonly kind: 'digest'; readonly server: string; readonly matches: (name: string) => boolean }

export interface CatalogNames {
  prefix(server: string): string | undefined
  /** The name under which a tool or prompt of a server is listed. */
  exposed(server: string, name: string): string
  /** Returns undefined for an impossible name. */
  resolve(exposed: string): ResolvedName | undefined
}

/** The specification allows 128; models' interfaces allow 64. */
const MAX_NAME = 64
// The digest at the end of a name. A server's own name with such an ending is digested as well, so the two cannot be
// confused.
const DIGEST_DIGITS = 10
const DIGEST_END = /-x[0-9a-f]{10}$/

/** `servers`: all configured servers, up or not. At most one has no prefix. */
export function createNames(servers: readonly NamedServer[]): CatalogNames {
  const prefixes = prefixesOf(servers)
  const owners = new PrefixIndex<{ readonly server: string; readonly start: string }>()
  for (const [server, prefix] of prefixes) owners.add(prefix, { server, start: `${prefix}${SEPARATOR}` })
  const bare = servers.find(({ prefix }) => prefix === false)?.name

  const exposed = (server: string, name: string): string => {
    const prefix = prefixes.get(server)
    const start = prefix === undefined ? '' : `${prefix}${SEPARATOR}`
    const whole = `${start}${name}`
    const isKept = isName(name) && whole.length <= MAX_NAME && !DIGEST_END.test(name)
    // A name without a prefix may look like a name of another server.
    if (isKept && (prefix !== undefined || owners.ownerOf(name) === undefined)) return whole
    return start + digested(name, MAX_NAME - start.length)
  }

  return {
    prefix: (server) => prefixes.get(server),
    exposed,
    resolve: (given) => {
      if (given.length > MAX_NAME) return undefined
      const owner = owners.ownerOf(given) ?? (bare === undefined ? undefined : { server: bare, start: '' })
      if (owner === undefined) return undefined
      const { server, start } = owner
      const name = given.slice(start.length)
      if (DIGEST_END.test(name)) return { kind: 'digest', server, matches: (own) => exposed(server, own) === given }
      return exposed(server, name) === given ? { kind: 'name', server, name } : undefined
    },
  }
}

/** A name without underscores, so that it begins with no other server's prefix. JSON keeps lone surrogates distinct. */
function digested(name: string, room: number): string {
  const digest = hash('sha256', JSON.stringify(name), 'hex').slice(0, DIGEST_DIGITS)
  const readable = name.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-/, '')
  const kept = readable.slice(0, room - DIGEST_DIGITS - 2).replace(/-$/, '')
  return `${kept}-x${digest}`
}

/** The reason why a text cannot be the name of a tool, if any. */
export function nameFault(name: string): string | undefined {
  const rule = `must be 1 to ${MAX_NAME} of the characters A-Z, a-z, 0-9, _, - and the dot.`
  return isName(name) ? undefined : rule
}

/** Tools, "Tool Names": the characters that the specification allows; the length that models' interfaces allow. */
function isName(name: string): boolean {
  return name.length <= MAX_NAME && /^[\w.-]+$/.test(name)
}

/** The facts about a server that decide its names. */
export interface NamedServer {
  readonly name: string
  /** False for no prefix. @default derived from the name */
  readonly prefix?: string | false
}

/** Separates the prefix of a server from its own name of a tool or prompt: `github_search`. */
export const SEPARATOR = '_'
const MAX_PREFIX = 32
const PREFIX_DIGEST_DIGITS = 6

/** The prefix of each server that has one, by its name. */
function prefixesOf(servers: readonly NamedServer[]): ReadonlyMap<string, string> {
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

/** A server whose prefix is derived from its name, and that name in plain characters. */
interface PrefixClaim {
  readonly name: string
  readonly base: string
}

/** Names that need no change come first, then shorter before longer ones. */
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
    const digest = hash('sha256', JSON.stringify([attempt, name]), 'hex').slice(0, PREFIX_DIGEST_DIGITS)
    candidate = `${dashed.slice(0, MAX_PREFIX - PREFIX_DIGEST_DIGITS - 1)}-${digest}`
  }
  return candidate
}

/** A name in characters that every client accepts. */
function plain(name: string): string {
  const fitting = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[-_]+|[-_]+$/g, '')
  return (fitting || 'server').slice(0, MAX_PREFIX)
}

/** The reason why a text cannot be a prefix, if any. */
export function prefixFault(prefix: string): string | undefined {
  const rule = `must be 1 to ${MAX_PREFIX} of the characters A-Z, a-z, 0-9, _ and -, or false for none.`
  return prefix.length <= MAX_PREFIX && /^[\w-]+$/.test(prefix) ? undefined : rule
}

/**
 * Index of prefixes and their owners, without a search among all servers. A prefix ends at one of the separators of a
 * name, so only those positions are looked up.
 */
export class PrefixIndex<Owner> {
  readonly #owners = new Map<string, Owner>()
  /** The beginnings of all prefixes, up to each separator, with the first owner of each. */
  readonly #beginnings = new Map<string, Owner>()

  /** The first owner of a prefix keeps it. */
  add(prefix: string, owner: Owner): void {
    const start = prefix + SEPARATOR
    if (!this.#owners.has(start)) this.#owners.set(start, owner)
    for (const beginning of beginningsOf(start))
      if (!this.#beginnings.has(beginning)) this.#beginnings.set(beginning, owner)
  }

  /** The owner of a prefix that is ambiguous with this one. */
  clashing(prefix: string): Owner | undefined {
    const start = prefix + SEPARATOR
    return this.#beginnings.get(start) ?? this.ownerOf(start)
  }

  /** The owner of the prefix that a name begins with. */
  ownerOf(name: string): Owner | undefined {
    for (const beginning of beginningsOf(name)) {
      const owner = this.#owners.get(beginning)
      if (owner !== undefined) return owner
    }
    return undefined
  }
}

/** `a_` and `a_b_` of `a_b_c`. */
function* beginningsOf(name: string): Generator<string> {
  for (let at = name.indexOf(SEPARATOR); at >= 0; at = name.indexOf(SEPARATOR, at + 1)) yield name.slice(0, at + 1)
}
