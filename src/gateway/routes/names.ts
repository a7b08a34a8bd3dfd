/** The names of a route: those of its one server, or with a prefix for each of many. */
import { type CatalogNames, exposedUri, resolveUri } from '../catalog/index.ts'

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
