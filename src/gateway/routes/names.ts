/** The names of a route: those of its one server, or with a prefix for each of many. */
import { type CatalogNames, exposedUri, resolveUri } from '../catalog/index.ts'
import type { RouteNames } from './directory.ts'

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
