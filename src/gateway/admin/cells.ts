/** What clients of either era can do with a server behind this gateway, by what is known of the server. */
import type { Address } from '../../client/index.ts'
import { type Cell, type CellFacts, cellsOf, declaredAbilities } from '../../probe/internal.ts'
import type { Backend } from '../backends/backend.ts'

/** What the gateway itself adds to that. */
export type GatewayFacts = Pick<CellFacts, 'knowsCallers' | 'gateways'>

/** Undefined until the server has been reached. */
export function backendCells(backend: Backend, facts: GatewayFacts): readonly [Cell, Cell] | undefined {
  const { about, era, isShared, listsDiffer, isRejected, config, link } = backend
  if (about === undefined) return undefined
  return cellsOf({
    ...facts,
    era,
    transport: link?.isStreamSession === true ? 'sse' : transportOf(config.address),
    isShared,
    listsDiffer,
    isRefused: isRejected,
    has: declaredAbilities(era, about.capabilities),
  })
}

function transportOf(address: Address): 'http' | 'stdio' {
  return 'url' in address ? 'http' : 'stdio'
}
