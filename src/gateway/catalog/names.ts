/**
 * Names of tools and prompts where many servers stand behind one endpoint: `github_search`.
 *
 * - Two tools never have the same name, and a name tells its server without any list.
 * - It also tells the server's own name of the tool, unless that was too long or had other characters. Such a name is
 *   cut and ends with a digest of the original, and only the server's list tells the original.
 */
import { hash } from 'node:crypto'
import { PrefixIndex, SEPARATOR } from './prefixIndex.ts'
import { isName, MAX_NAME, type NamedServer, prefixesOf } from './prefixes.ts'

/** What a name stands for. */
export type ResolvedName =
  | { readonly kind: 'name'; readonly server: string; readonly name: string }
  /** `matches` recognizes the server's own name in its list. */
  | { readonly kind: 'digest'; readonly server: string; readonly matches: (name: string) => boolean }

export interface CatalogNames {
  /** The prefix of a server; undefined where it has none. */
  prefix(server: string): string | undefined
  /** The name under which something of a server is listed. */
  exposed(server: string, name: string): string
  /** Undefined for a name that nothing can have. */
  resolve(exposed: string): ResolvedName | undefined
}

// Ends a name with a digest. A server's own name that ends so gets a digest as well, so the two are never taken for
// each other.
const DIGEST_DIGITS = 10
const DIGEST_END = /-x[0-9a-f]{10}$/

/** `servers`: all that are configured, whether they are up or not. At most one of them has no prefix. */
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
      const owner = owners.ownerOf(given) ?? (bare === undefined ? undefined : { server: bare, start: '' })
      if (owner === undefined || given.length > MAX_NAME) return undefined
      const { server, start } = owner
      const name = given.slice(start.length)
      if (DIGEST_END.test(name)) return { kind: 'digest', server, matches: (own) => exposed(server, own) === given }
      return exposed(server, name) === given ? { kind: 'name', server, name } : undefined
    },
  }
}

/** A name without underscores, so that it begins like no other server's. JSON keeps halves of characters apart. */
function digested(name: string, room: number): string {
  const digest = hash('sha256', JSON.stringify(name), 'hex').slice(0, DIGEST_DIGITS)
  const readable = name.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-/, '')
  const kept = readable.slice(0, room - DIGEST_DIGITS - 2).replace(/-$/, '')
  return `${kept}-x${digest}`
}
