/** The names of a route: those of its one server, or with a prefix for each of many. */
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
 * Precedes the address of a resource, with the server's name, if several servers have it:
 * `pannier://github/file:///readme.md`. The rest is the original, so that a template keeps its meaning: its expansions
 * resolve to those of the original.
 */
const SCHEME = 'pannier://'

/** `isUnique`: whether no other server has the same address. The same for templates. */
export function exposedUri(server: string, uri: string, isUnique: boolean): string {
  // An address with our scheme, such as one of a gateway behind this one, would resolve to something else.
  return isUnique && !uri.startsWith(SCHEME) ? uri : `${SCHEME}${encodeURIComponent(server)}/${uri}`
}

/** The server and its own address; undefined for an address that names no server. */
export function resolveUri(uri: string): { readonly server: string; readonly uri: string } | undefined {
  if (!uri.startsWith(SCHEME)) return undefined
  const end = uri.indexOf('/', SCHEME.length)
  if (end < 0) return undefined
  const server = decoded(uri.slice(SCHEME.length, end))
  return server === undefined ? undefined : { server, uri: uri.slice(end + 1) }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
