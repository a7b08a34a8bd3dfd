/** The items of all processes, as the gateways of the fleet and one list of servers. */
import type { Item } from '../topic.ts'

export interface JoinedServer {
  readonly name: string
  /** The report of a process that does not reach the server, if there is one: any process may get a call. */
  readonly item: Item
  /** Processes, sessions and connections of all gateways. */
  readonly links: number
  readonly inFlight: number
  readonly calls: readonly number[]
  readonly failures: readonly number[]
}

export interface JoinedOverview {
  /** By the id of the process. */
  readonly gateways: ReadonlyMap<string, Item>
  readonly servers: readonly JoinedServer[]
}

const MINUTES = 60
const NO_CALLS: readonly number[] = Array.from({ length: MINUTES }, () => 0)

export function joinedServers(items: ReadonlyMap<string, Item>): JoinedOverview {
  const gateways = new Map<string, Item>()
  const servers = new Map<string, JoinedServer>()
  for (const [key, item] of items) {
    const [process = '', kind, ...rest] = key.split('/')
    const name = rest.join('/')
    if (kind === 'gateway') gateways.set(process, item)
    else if (kind === 'server') servers.set(name, withReport(servers.get(name), name, item))
  }
  for (const [key, item] of items) {
    const [, kind, ...rest] = key.split('/')
    const server = kind === 'hour' ? servers.get(rest.join('/')) : undefined
    if (server === undefined) continue
    const calls = added(server.calls, item['calls'])
    servers.set(server.name, { ...server, calls, failures: added(server.failures, item['failures']) })
  }
  return { gateways, servers: [...servers.values()] }
}

function withReport(before: JoinedServer | undefined, name: string, item: Item): JoinedServer {
  const { links = 0, inFlight = 0, calls = NO_CALLS, failures = NO_CALLS } = before ?? {}
  const shown = before === undefined || item['condition'] !== 'up' ? item : before.item
  const more = { links: links + Number(item['links'] ?? 0), inFlight: inFlight + Number(item['inFlight'] ?? 0) }
  return { name, item: shown, ...more, calls, failures }
}

function added(one: readonly number[], other: unknown): readonly number[] {
  return Array.isArray(other) ? one.map((value, at) => value + Number(other[at] ?? 0)) : one
}
