/** A listener for other gateways, for when the clients' address leads to any of them. */
import { isInstanceMessage, reachableHost } from '../cluster/index.ts'
import { type Connections, type NodeHandler, openListener, refusal, send } from '../server/internal.ts'

export interface ReplicaListenOptions {
  readonly host: string
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

/** Serves only messages of gateways, which are sealed. */
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

/** Closes the second listener after the first: until then requests of the first need it. */
export function closedInTurn(first: Connections, second: Connections): Pick<Connections, 'announceClose' | 'close'> {
  return {
    announceClose: () => first.announceClose(),
    close: async (idleMs) => {
      await first.close(idleMs)
      await second.close(0)
    },
  }
}
