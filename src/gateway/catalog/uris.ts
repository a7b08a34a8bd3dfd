/**
 * Addresses of resources where many servers stand behind one endpoint. An address that one server alone has is kept.
 * Otherwise the server's name stands before it, `pannier://github/file:///readme.md`, and the rest is the original,
 * so that a template keeps its meaning: what it expands to leads back to what the original expands to.
 */
const SCHEME = 'pannier://'

/** `isUnique`: whether no other server has the same address. Templates are treated alike. */
export function exposedUri(server: string, uri: string, isUnique: boolean): string {
  // An address that looks like ours, such as one of a gateway behind this one, would lead back to something else.
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
