/** Advertised and peer addresses, from options and environment variables. */
import { networkInterfaces } from 'node:os'

/** Validates the configured address of an endpoint. `setting`: the option or variable that holds it, for the error. */
export function readAdvertised(text: string, setting: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (isPlain && url.hash === '' && url.search === '') return url.href
  throw new TypeError(
    `${setting} must be an address of an endpoint as other instances reach it, such as "http://10.0.0.7:3000/mcp".`,
  )
}

/** The address that this instance advertises, from the option or PANNIER_ADVERTISE. */
export function advertisedAddress(option: string | undefined): string | undefined {
  if (option !== undefined) return readAdvertised(option, 'The option "advertise"')
  const advertised = env('PANNIER_ADVERTISE')
  return advertised === undefined ? undefined : readAdvertised(advertised, 'PANNIER_ADVERTISE')
}

/** The addresses of other instances, from the option or PANNIER_PEERS. */
export function peerAddresses(option: readonly string[] | undefined): readonly string[] {
  if (option !== undefined) return option.map((address) => readAdvertised(address.trim(), 'The option "peers"'))
  const listed = env('PANNIER_PEERS')?.split(',') ?? []
  return listed.map((address) => readAdvertised(address.trim(), 'PANNIER_PEERS'))
}

/**
 * The host at which other instances reach a server that listens on this address. For a wildcard address it is an
 * address of the machine, or loopback where the machine has no other.
 */
export function reachableHost(address: string, interfaces: typeof networkInterfaces = networkInterfaces): string {
  const host = address === '0.0.0.0' || address === '::' ? ownAddress(interfaces) : address
  return host.includes(':') ? `[${host}]` : host
}

function ownAddress(interfaces: typeof networkInterfaces): string {
  const all = Object.values(interfaces()).flatMap((list) => list ?? [])
  // Link-local addresses are valid on one link only and need its zone id.
  const usable = all.filter(({ internal, address }) => !internal && !/^(?:169\.254\.|fe80:)/i.test(address))
  const own = usable.find(({ family }) => family === 'IPv4') ?? usable[0]
  return own?.address ?? '127.0.0.1'
}

/** An empty variable counts as unset. */
function env(name: string): string | undefined {
  return process.env[name] || undefined
}
