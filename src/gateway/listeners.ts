/** Listeners of a gateway: one for clients, shared by all routes, and one for other gateways if their address is another. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { isInstanceMessage, reachableHost } from '../cluster/index.ts'
import { type Connections, type NodeHandler, openListener, portInUse, refusal, send } from '../server/internal.ts'

type ClosingListener = Pick<Connections, 'announceClose' | 'close'>

/** One listener for several routes. It closes when no route needs it any more. */
export class SharedListener {
  readonly #connections: ClosingListener
  readonly #until: () => Promise<void> | undefined
  readonly #last = Promise.withResolvers<void>()
  #left = 0

  /** `until`: resolves when clients can no longer come back. */
  constructor(connections: ClosingListener, until: () => Promise<void> | undefined) {
    this.#connections = connections
    this.#until = until
  }

  /** The listener for one more route. */
  join(): ClosingListener {
    this.#left++
    return {
      announceClose: () => this.#connections.announceClose(),
      close: async (idleMs) => {
        this.#left--
        if (this.#left === 0) this.#last.resolve(this.#close(idleMs))
        await this.#last.promise
      },
    }
  }

  async #close(idleMs: number): Promise<void> {
    await this.#until()
    await this.#connections.close(idleMs)
  }
}

export interface ReplicaListenOptions {
  /** The address to listen at for other gateways. */
  readonly host: string
  /** The port for other gateways. */
  readonly port: number
  /** The host at which other gateways reach this one. @default that of the address */
  readonly advertise?: string | undefined
}

interface ReplicaListener {
  /** The address at which other gateways reach it. */
  readonly base: string
  readonly connections: Connections
}

const NO_CLIENTS = refusal(404, 'This address is for other gateways. Clients are served at that of the gateway.')

/** Opens a listener that serves only messages of other gateways, which are sealed. */
export async function openReplicaListener(
  { host, port, advertise }: ReplicaListenOptions,
  serve: NodeHandler,
): Promise<ReplicaListener> {
  const listener = await openListener({ host, port, exclusive: true }, (req, res) => {
    if (isInstanceMessage(req)) serve(req, res)
    else send(res, NO_CLIENTS)
  })
  const reached = advertise ?? reachableHost(listener.address)
  return { base: new URL(`http://${reached}:${listener.port}`).href, connections: listener.connections }
}

/** Closes the first listener, then the second, which requests of the first need until they end. */
export function closedInTurn(first: Connections, second: Connections): ClosingListener {
  return {
    announceClose: () => first.announceClose(),
    close: async (idleMs) => {
      await first.close(idleMs)
      await second.close(0)
    },
  }
}

const ANSWERS_WITHIN_MS = 1000

/**
 * Reports a port in use before servers and workers are started. It connects to the port instead of listening there,
 * because a balancer would send clients to a listening port.
 */
export async function assertPortFree({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  if (port === 0) return
  const socket = connect({ port, host, timeout: ANSWERS_WITHIN_MS })
  socket.once('timeout', () => socket.destroy(new Error('No answer.')))
  const isUsed = await once(socket, 'connect').then(
    () => true,
    () => false, // any other obstacle is reported when the process listens
  )
  socket.destroy()
  if (isUsed) throw portInUse(port, host)
}
