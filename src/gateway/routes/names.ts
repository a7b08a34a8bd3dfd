/** The names of a route: the server's own on a route with one server, with a prefix for each server otherwise. */
import type { CatalogNames } from '../catalog/index.ts'

export interface RouteNames {
  /** The name of a server's tool or prompt on this route. */
  exposed(server: string, name: string): string
  /** The target of an unlisted name, if the name identifies it. */
  resolve(exposed: string): { readonly server: string; readonly name: string } | undefined
  /** The address of a server's resource on this route. `isUnique`: no other server has it. */
  exposedUri(server: string, uri: string, isUnique: boolean): string
  resolveUri(uri: string): { readonly server: string; readonly uri: string } | undefined
}

/** One server under its own names. */
export function plainNames(server: string): RouteNames {
  return {
    exposed: (_, name) => name,
    resolve: (name) => ({ server, name }),
    exposedUri: (_, uri) => uri,
    resolveUri: (uri) => ({ server, uri }),
  }
}

export function prefixedNames(names: CatalogNames): RouteNames {
  return {
    exposed: (server, name) => names.exposed(server, name),
    resolve: (exposed) => {
      const found = names.resolve(exposed)
      return found?.kind === 'name' ? found : undefined
    },
    exposedUri,
    resolveUri,
  }
}

/**
 * The prefix with the server's name for the address of a resource that several servers have:
 * `pannier://github/file:///readme.md`. The rest is the original, so that expansions of a template resolve to those of
 * the original. Hosts recognize pages of apps by their scheme, which therefore stays: `ui://pannier/github/page`.
 */
const PREFIXES = [
  { scheme: 'ui://', prefix: 'ui://pannier/' },
  { scheme: '', prefix: 'pannier://' },
] as const

/** `isUnique`: whether no other server has the same address or template. */
export function exposedUri(server: string, uri: string, isUnique: boolean): string {
  // An address with our prefix, such as one of a gateway behind this one, would resolve to something else.
  if (isUnique && !PREFIXES.some(({ prefix }) => uri.startsWith(prefix))) return uri
  const { scheme, prefix } = uri.startsWith(PREFIXES[0].scheme) ? PREFIXES[0] : PREFIXES[1]
  return `${prefix}${encodeURIComponent(server)}/${uri.slice(scheme.length)}`
}

/** The server and its own address; undefined for an address that names no server. */
export function resolveUri(uri: string): { readonly server: string; readonly uri: string } | undefined {
  const found = PREFIXES.find(({ prefix }) => uri.startsWith(prefix))
  if (found === undefined) return undefined
  const { scheme, prefix } = found
  const end = uri.indexOf('/', prefix.length)
  if (end < 0) return undefined
  const server = decoded(uri.slice(prefix.length, end))
  return server === undefined ? undefined : { server, uri: scheme + uri.slice(end + 1) }
}

/** Undefined for a text that is not percent-encoded. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
