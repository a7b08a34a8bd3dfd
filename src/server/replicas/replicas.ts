/** What an instance needs to work with the others: its own name, whom it knows, and what they send it. */
import { type HeaderReader, isObject, type Json, unref } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { Sealer } from '../../state/seal/index.ts'
import { type Ledger, memoryLedger } from '../../state/stores/index.ts'
import type { InstanceMessages, HttpReply, Sink } from '../http/exchange.ts'
import { refusal } from '../http/refusal.ts'
import type { EventBus, ServerEvent } from '../lifecycle/eventBus.ts'
import { errorDetails, type Logger } from '../logger.ts'
import { type ClientRequest, Forwarder, readRequest } from './forwarder.ts'
import { type Instance, readAdvertised, Self } from './instance.ts'
import {
  ADDRESS_HEADER,
  discard,
  INSTANCE_HEADER,
  MAX_MESSAGE_BYTES,
  MESSAGE_TYPE,
  Messenger,
  type Received,
} from './messenger.ts'
import { type PeerBus, peerBus } from './peerBus.ts'
import { type PeerLedger, peerLedger } from './peerLedger.ts'
import { Peers } from './peers.ts'

export interface ReplicasOptions {
  /** Where other instances reach this one. @default PANNIER_ADVERTISE, else where it listens */
  readonly advertise: string | undefined
  /** Where to look for other instances. @default PANNIER_PEERS, separated by commas */
  readonly addresses: readonly string[] | undefined
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
// An instance that starts may be the first, or reach itself by way of a balancer; the others are there within a minute.
const SEEK_EVERY_MS = 1000
const MAX_SEEKS = 60
const ADDRESS_CHECKS = 3

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
  adopt: (handedOver: Json) => boolean | Promise<boolean> = () => false
  readonly #messenger: Messenger
  readonly #addresses: readonly string[]
  readonly #logger: () => Logger
  readonly #peerBus: PeerBus
  readonly #peerLedger: PeerLedger

  constructor({
    advertise = env('PANNIER_ADVERTISE'),
    addresses,
    sealer,
    bus,
    ledger,
    clock,
    logger,
  }: ReplicasOptions) {
    const self = new Self(advertise)
    const messenger = new Messenger({ self, sealer, clock })
    const peers = new Peers({ self, messenger, clock, logger })
    this.self = self
    this.#addresses = addresses ?? env('PANNIER_PEERS')?.split(',') ?? []
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

  refusal(): HttpReply {
    const { id, url } = this.self
    const reply = refusal(421, 'This message was here before, or is not for this instance.')
    return { ...reply, headers: { [INSTANCE_HEADER]: id, ...(url !== undefined && { [ADDRESS_HEADER]: url }) } }
  }

  /** Meets whoever is at the configured addresses, each of which may be one of an instance or of a balancer before some. */
  seek(): void {
    for (const address of this.#addresses) void this.#seek(readAdvertised(address.trim()), MAX_SEEKS)
  }

  async #seek(url: string, left: number): Promise<void> {
    const delivery = await this.#messenger.send({ id: '', url }, {})
    const found = delivery.kind === 'gone' ? delivery.successor : undefined
    if (found !== undefined && found.id !== this.self.id)
      return this.peers.meet({ id: found.id, url: found.address ?? url })
    if (left > 0) unref(setTimeout(() => void this.#seek(url, left - 1), SEEK_EVERY_MS))
  }

  /** What another instance posted. Gives the reply, or undefined when it goes by the sink. */
  async receive(token: string, sink: Sink): Promise<HttpReply | undefined> {
    const received = this.#open(token)
    if (received === undefined) return this.refusal()
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
        return jsonReply({ isAdopted: await this.adopt(message['stream'] as Json) })
      case 'request':
        return this.serve(readRequest(message), sink)
      default:
        return refusal(400, 'The message is of a version that this instance cannot read.')
    }
  }

  /**
   * Sends itself messages by its own address. A wrong one would make this instance look gone to all others, who would go
   * on with its calls beside it. So then it has none, until the address leads to it.
   */
  async checkAddress(): Promise<void> {
    const { url } = this.self
    const why = await this.#strayed(url)
    if (why === undefined) return
    this.self.url = undefined
    this.#logger().warn(
      { advertise: url, why },
      'This instance does not reach itself at the address that it advertises, so it tells nobody. It must not be the address of a load balancer.',
    )
    this.#checkAgain(url, MAX_SEEKS)
  }

  #checkAgain(url: string | undefined, left: number): void {
    const check = async (): Promise<void> => {
      if ((await this.#strayed(url)) !== undefined) return this.#checkAgain(url, left - 1)
      this.self.url = url
      this.#logger().info({ advertise: url }, 'This instance reaches itself at the address that it advertises now.')
    }
    if (left > 0) unref(setTimeout(() => void check(), SEEK_EVERY_MS))
  }

  /** Why messages to this address do not come here. Behind that of a balancer only some of them would. */
  async #strayed(url: string | undefined): Promise<string | undefined> {
    for (let sent = 0; sent < ADDRESS_CHECKS; sent++) {
      const delivery = await this.#messenger.send({ id: this.self.id, url }, { kind: 'hello' })
      if (delivery.kind === 'gone') return delivery.why
      await discard(delivery.response)
    }
    return undefined
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
    this.peers.lose(peer, delivery.successor)
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

/** An empty variable is none. */
function env(name: string): string | undefined {
  return process.env[name] || undefined
}
