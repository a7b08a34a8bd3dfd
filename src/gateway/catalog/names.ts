/**
 * Names of tools and prompts of many servers behind one endpoint: `github_search`.
 *
 * - Names are unique, and a name alone identifies its server, without any list.
 * - It also contains the server's own name of the tool, unless that was too long or had other characters. Such a name
 * is
 *   cut and ends with a digest of the original, which only the server's list can resolve.
 */
import { hash } from 'node:crypto'
import { type NamedServer, PrefixIndex, prefixesOf, SEPARATOR } from './prefixes.ts'

/** What a name resolves to. */
export type ResolvedName =
  | { readonly kind: 'name'; readonly server: string; readonly name: string }
  /** `matches` recognizes the server's own name in its list. */
  | { readonly kind: 'digest'; readonly server: string; readonly matches: (name: string) => boolean }

export interface CatalogNames {
  /** The prefix of a server, if any. */
  prefix(server: string): string | undefined
  /** The name under which a tool or prompt of a server is listed. */
  exposed(server: string, name: string): string
  /** Returns undefined for an impossible name. */
  resolve(exposed: string): ResolvedName | undefined
}

/** The specification allows 128; models' interfaces allow 64. */
const MAX_NAME = 64
// The digest at the end of a name. A server's own name with such an ending gets a digest as well, so the two are never
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
    // Without a prefix a name may look like one of another server.
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

/** A name without underscores, so that it has no other server's prefix. JSON keeps lone surrogates distinct. */
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
