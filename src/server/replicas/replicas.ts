/** What an instance needs to work with the others: its own name, whom it knows, and what they send it. */
import { type HeaderReader, isObject, type Json } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { Sealer } from '../../state/seal/index.ts'
import { type Ledger, memoryLedger } from '../../state/stores/index.ts'
import type { InstanceMessages, HttpReply, Sink } from '../http/exchange.ts'
import { refusal } from '../http/refusal.ts'
import type { EventBus, ServerEvent } from '../lifecycle/eventBus.ts'
import { errorDetails, type Logger } from '../logger.ts'
import { type ClientRequest, Forwarder, readRequest } from './forwarder.ts'
import { type Instance, Self } from './instance.ts'
import { discard, INSTANCE_HEADER, MAX_MESSAGE_BYTES, MESSAGE_TYPE, Messenger, type Received } from './messenger.ts'
import { type PeerBus, peerBus } from './peerBus.ts'
import { type PeerLedger, peerLedger } from './peerLedger.ts'
import { Peers } from './peers.ts'

export interface ReplicasOptions {
  /** Where other instances reach this one. @default where it listens */
  readonly advertise: string | undefined
  readonly sealer: Sealer
  /** What instances tell each other goes by this bus, where one is configured, else from one to the other. */
  readonly bus: EventBus | undefined
  /** Where instances claim calls, where one is configured, else in the memory of one of them. */
  readonly ledger: Ledger | undefined
  readonly clock: () => number
  readonly logger: () => Logger
}

// One after the other is asked, within the time that a platform gives a process to end.
const MAX_ADOPTERS = 4

export class Replicas implements InstanceMessages {
  readonly mediaType = MESSAGE_TYPE
  readonly maxBytes = MAX_MESSAGE_BYTES
  readonly self: Self
  readonly peers: Peers
  readonly forwarder: Forwarder
  readonly bus: EventBus
  readonly ledger: Ledger
  /** Serves what another instance forwards. */
  serve: (request: ClientRequest, sink: Sink) => Promise<HttpReply | undefined> = () =>
    Promise.resolve(refusal(400, 'Nothing is forwarded to a server without sessions.'))
  /** Takes what an instance that stops hands over; false when it cannot. */
  adopt: (handedOver: Json) => boolean = () => false
  readonly #messenger: Messenger
  readonly #logger: () => Logger
  readonly #peerBus: PeerBus
  readonly #peerLedger: PeerLedger

  constructor({ advertise, sealer, bus, ledger, clock, logger }: ReplicasOptions) {
    const self = new Self(advertise)
    const messenger = new Messenger({ self, sealer, clock })
    const peers = new Peers({ self, messenger, clock, logger })
    this.self = self
    this.peers = peers
    this.#messenger = messenger
    this.#logger = logger
    this.forwarder = new Forwarder(messenger, peers)
    this.#peerBus = peerBus(peers)
    this.#peerLedger = peerLedger({ self, peers, messenger, local: memoryLedger({ clock }) })
    this.bus = bus ?? this.#peerBus
    this.ledger = ledger ?? this.#peerLedger
  }

  admits(header: HeaderReader): boolean {
    return this.#messenger.admits(header(INSTANCE_HEADER))
  }

  /** What another instance posted. Gives the reply, or undefined when it goes by the sink. */
  async receive(token: string, sink: Sink): Promise<HttpReply | undefined> {
    const received = this.#open(token)
    if (received === undefined) return refusal(421, 'This message was here before, or is not for this instance.')
    const { from, message } = received
    sink.setHeaders({ [INSTANCE_HEADER]: this.self.id })
    this.peers.note(from)
    switch (message['kind']) {
      case 'hello':
        return jsonReply(this.peers.greeted(from))
      case 'events':
        this.#hear(message['events'])
        return { status: 202 }
      case 'ledger':
        return jsonReply(await this.#peerLedger.serve(message))
      case 'adopt':
        return jsonReply({ isAdopted: this.adopt(message['stream'] as Json) })
      case 'request':
        return this.serve(readRequest(message), sink)
      default:
        return refusal(400, 'The message is of a version that this instance cannot read.')
    }
  }

  /** Sends itself a message by its own address, because a wrong one makes this instance look gone to all others. */
  async checkAddress(): Promise<void> {
    const delivery = await this.#messenger.send(this.self, { kind: 'hello' })
    if (delivery.kind === 'delivered') return discard(delivery.response)
    this.#logger().warn(
      { advertise: this.self.url, why: delivery.why },
      'This instance does not reach itself at the address that it advertises. If others do not either, they take it for gone; it must not be the address of a load balancer.',
    )
  }

  /** Gives something to another instance; gives that instance, or undefined when there is none to take it. */
  async handOver(stream: Json): Promise<Instance | undefined> {
    const peers = [...(await this.peers.all())].sort(() => Math.random() - 0.5)
    for (const peer of peers.slice(0, MAX_ADOPTERS)) {
      try {
        if (await this.#offer(peer, stream)) return peer
      } catch (error) {
        this.#logger().warn({ url: peer.url, err: errorDetails(error) }, 'A call could not be handed over.')
      }
    }
    return undefined
  }

  async #offer(peer: Instance, stream: Json): Promise<boolean> {
    const delivery = await this.#messenger.send(peer, { kind: 'adopt', stream })
    if (delivery.kind === 'delivered')
      return ((await delivery.response.json()) as { isAdopted?: unknown }).isAdopted === true
    this.peers.lose(peer)
    return false
  }

  #open(token: string): Received | undefined {
    try {
      return this.#messenger.open(token)
    } catch (error) {
      if (error instanceof StateError) return undefined
      throw error
    }
  }

  #hear(events: unknown): void {
    for (const event of Array.isArray(events) ? (events as readonly unknown[]) : []) {
      if (isObject(event)) this.#peerBus.hear(event as unknown as ServerEvent)
    }
  }
}

function jsonReply(value: Json): HttpReply {
  return { status: 200, body: JSON.stringify(value) }
}
