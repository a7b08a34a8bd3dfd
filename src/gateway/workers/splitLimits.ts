/** A worker's share of what a gateway may use: the limits of a server count for all workers together. */
import type { BackendConfig, GatewayConfig } from '../config/index.ts'

/** Which worker it is, from 1 on, of how many. */
export interface WorkerPlace {
  readonly worker: number
  readonly workers: number
}

const SPLIT = ['maxProcesses', 'maxSessions', 'maxInFlight'] as const

export function splitLimits(config: GatewayConfig, place: WorkerPlace): GatewayConfig {
  return { ...config, servers: config.servers.map((server) => splitServer(server, place)) }
}

/** The servers of which not every worker can have one of something: each has one all the same. */
export function overdrawn({ servers }: GatewayConfig, workers: number): readonly string[] {
  const isTooFew = ({ settings }: BackendConfig): boolean => SPLIT.some((limit) => settings[limit] < workers)
  return servers.filter(isTooFew).map(({ name }) => name)
}

function splitServer(server: BackendConfig, place: WorkerPlace): BackendConfig {
  const limits = Object.fromEntries(SPLIT.map((limit) => [limit, share(server.settings[limit], place)]))
  return { ...server, settings: { ...server.settings, ...limits } }
}

/** The first workers get the remainder, and each gets at least one. */
export function share(limit: number, { worker, workers }: WorkerPlace): number {
  const even = Math.floor(limit / workers)
  return Math.max(1, even + (worker <= limit % workers ? 1 : 0))
}
