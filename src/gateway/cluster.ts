/** The cluster of a gateway: one for all its routes. Other gateways reach it at the address of `/mcp`. */
import { Cluster } from '../cluster/index.ts'
import type { ServerOptions } from '../server/index.ts'
import { messageSealer } from '../server/internal.ts'
import type { Keyring } from '../state/seal/index.ts'

/** The path of all servers together. */
export const UNION_PATH = '/mcp'

/** The URL for messages to the gateway at an address. */
export function clusterUrl(address: string): string {
  return new URL(UNION_PATH, address).href
}

export function gatewayCluster(server: ServerOptions, keyring: Keyring): Cluster {
  const { PANNIER_ADVERTISE: advertise, PANNIER_PEERS: peers } = process.env
  const { logger = SILENT, clock = Date.now } = server
  return new Cluster({
    advertise: advertise ? configured('PANNIER_ADVERTISE', advertise) : undefined,
    addresses: peers ? peers.split(',').map((address) => configured('PANNIER_PEERS', address)) : [],
    sealer: messageSealer({ keyring, audience: server.audience ?? server.name, clock }),
    ledger: server.ledger,
    clock,
    logger: () => logger,
  })
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

function configured(variable: string, address: string): string {
  const trimmed = address.trim()
  if (URL.canParse(trimmed) && /^https?:$/.test(new URL(trimmed).protocol)) return clusterUrl(trimmed)
  throw new TypeError(
    `${variable} must have addresses of gateways as others reach them, such as "http://10.0.0.7:8931".`,
  )
}
