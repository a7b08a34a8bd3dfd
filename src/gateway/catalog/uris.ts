/**
 * Addresses of resources of many servers behind one endpoint. An address that only one server has is unchanged.
 * Otherwise the server's name precedes it, `pannier://github/file:///readme.md`. The rest is the original, so that a
 * template keeps its meaning: its expansions resolve to those of the original.
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
