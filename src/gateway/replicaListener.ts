/** An address of a gateway for other gateways, where that of clients leads to any of them. */
import {
  type Connections,
  isInstanceMessage,
  type NodeHandler,
  openListener,
  reachableHost,
  refusal,
  send,
} from '../server/internal.ts'

export interface ReplicaListenOptions {
  readonly host: string
  readonly port: number
  /** The host by which other gateways reach this one. @default that of the address */
  readonly advertise?: string | undefined
}

interface ReplicaListener {
  /** How other gateways reach it. */
  readonly base: string
  readonly connections: Connections
}

const NO_CLIENTS = refusal(404, 'This address is for other gateways. Clients are served at that of the gateway.')

/** Only messages of gateways are served there; they are sealed. */
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

/** The second listener is closed when the first one is: until then it is needed for what comes by the first. */
export function closedInTurn(first: Connections, second: Connections): Pick<Connections, 'announceClose' | 'close'> {
  return {
    announceClose: () => first.announceClose(),
    close: async (idleMs) => {
      await first.close(idleMs)
      await second.close(0)
    },
  }
}
