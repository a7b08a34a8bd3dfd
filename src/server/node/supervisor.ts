/**
 * The seam for `pannier dev`, which starts a server again when its files change. A supervisor keeps the address that
 * clients use. Each process listens at its own port behind it, even if its program calls `stdio`.
 */
import type { EndpointParts } from '../http/endpoint.ts'
import { type HttpListener, type ListenOptions, listen as listenAt } from '../http/listen.ts'

/** The supervisor of this process, as a global: a variable would reach the programs that a server starts, too. */
const SUPERVISOR = Symbol.for('pannier.supervisor')

interface Supervisor {
  /** The port and host for the first server of the process, instead of its own; undefined for other servers. */
  claim(): ClaimedAddress | undefined
}

interface ClaimedAddress {
  readonly port: number
  readonly host: string
  /** The origin that clients use. */
  readonly origin: string
  /** Reports the address at which the server is ready for requests. */
  ready(url: string): void
}

interface SupervisedListener extends HttpListener {
  /** The address that clients use, if a supervisor has one. */
  readonly front?: string
  /** Reports to the supervisor that requests may come. */
  readonly ready?: () => void
}

export function isSupervised(): boolean {
  return supervisor() !== undefined
}

/** Listens at the address of the options, or of the process's supervisor. */
export async function listen(parts: EndpointParts, options: ListenOptions): Promise<SupervisedListener> {
  const claimed = supervisor()?.claim()
  if (claimed === undefined) return listenAt(parts, options)
  const { port, host, origin, ready } = claimed
  const listener = await listenAt(parts, { ...options, port, host })
  const front = origin + new URL(listener.url).pathname
  return { ...listener, url: front, front, ready: () => ready(listener.url) }
}

function supervisor(): Supervisor | undefined {
  return (globalThis as { [SUPERVISOR]?: Supervisor })[SUPERVISOR]
}
