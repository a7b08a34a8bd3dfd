import { networkInterfaces } from 'node:os'

/**
 * The host by which other instances reach a server that listens at this address. One that listens at all addresses is
 * reached at the machine's own, or over loopback where the machine has no other.
 */
export function reachableHost(address: string, interfaces: typeof networkInterfaces = networkInterfaces): string {
  const host = address === '0.0.0.0' || address === '::' ? ownAddress(interfaces) : address
  return host.includes(':') ? `[${host}]` : host
}

function ownAddress(interfaces: typeof networkInterfaces): string {
  const all = Object.values(interfaces()).flatMap((list) => list ?? [])
  // Link-local addresses mean something on one link only, and need its name beside them.
  const usable = all.filter(({ internal, address }) => !internal && !/^(?:169\.254\.|fe80:)/i.test(address))
  const own = usable.find(({ family }) => family === 'IPv4') ?? usable[0]
  return own?.address ?? '127.0.0.1'
}
