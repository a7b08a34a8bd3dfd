/** A gateway that the program serves, in one process or in several. */
import type { Gateway, GatewayConfig, GatewayOptions } from '../../gateway/index.ts'
import { createGateway } from '../../gateway/internal.ts'
import { guardGroups } from '../../client/internal.ts'
import { unref } from '../../protocol/index.ts'
import { storedLoginFor } from '../connection.ts'
import { catalogueText, lostText, servedText, withheldText } from '../output/gateway.ts'

export interface ServeAddressOptions {
  readonly port: number
  readonly host: string
  readonly insecure: boolean
}

export interface TableOptions {
  readonly width: number
  /** How long servers are waited for that are still being looked at. */
  readonly withinMs: number
}

/** What is served, as text. */
export interface ServedTable {
  readonly text: string
  /** Whether nothing is still to be found out of the servers. */
  readonly isWhole: boolean
}

export interface ServedGateway {
  /** Serves clients over HTTP. Gives the address. */
  listen(at: ServeAddressOptions): Promise<string>
  /** Serves one client on standard input and output, where one process does. */
  stdio?(): Promise<void>
  /** Serves health, servers and metrics; gives the addresses of the pages. */
  listenAdmin(): Promise<readonly string[]>
  /** What is served; undefined where nobody can tell. */
  table(options: TableOptions): Promise<ServedTable | undefined>
  reload(config: GatewayConfig): Promise<void>
  drain(): Promise<void>
}

/** A gateway of this process, with the logins of whoever runs it. */
export function gatewayOf(options: GatewayOptions): Gateway {
  guardGroups()
  return createGateway({ ...options, authorizer: ({ url }) => storedLoginFor(url) })
}

/** A line for each server, and one for each address that lists tools of many. */
export async function tableOf(gateway: Gateway, { width, withinMs }: TableOptions): Promise<ServedTable> {
  const judged = gateway.judged().then(() => true)
  const late = new Promise<boolean>((resolve) => unref(setTimeout(() => resolve(false), withinMs)))
  const isWhole = await Promise.race([judged, late])
  const catalogues = gateway.catalogues.map(catalogueText)
  const lines = [servedText(gateway, width), ...withheldText(gateway), ...lostText(gateway), ...catalogues]
  return { text: lines.join('\n'), isWhole }
}

/** The addresses of the admin pages; `/metrics` only where something is measured. */
export function adminPages(url: string, hasMetrics: boolean): readonly string[] {
  return ['health', 'servers', ...(hasMetrics ? ['metrics'] : [])].map((page) => `${url}${page}`)
}
