/**
 * The cooperation of a process with the other processes of a server: one cluster per process, for all its endpoints. It
 * knows the members, receives their messages and events, and gives each endpoint its scope.
 */
import { type HeaderReader, type Json, type Logger, settledWithin } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import type { Sealer } from '../state/seal/index.ts'
import { type Ledger, memoryLedger } from '../state/stores/index.ts'
import { AddressCheck, advertisedAddress, peerAddresses } from './address.ts'
import { Discovery } from './discovery.ts'
import type { ClusterBus } from './events.ts'
import { Forwarding, goneReply, jsonReply, type MessageReply, type ReplySink } from './forward.ts'
import { MemberHeartbeat } from './heartbeat.ts'
import { type Instance, Self } from './instance.ts'
import { type MemberLedger, memberLedger } from './memberLedger.ts'
import { Members } from './members.ts'
import {
  INSTANCE_HEADER,
  MAX_MESSAGE_BYTES,
  MESSAGE_TYPE,
  Messenger,
  type Received,
  REFUSED_STATUS,
} from './messenger.ts'
import { ClusterScope, readEvent, type SharedParts } from './scope.ts'
import { ClusterStop } from './stop.ts'
import { SOUGHT_WITHIN_MS } from './times.ts'

export interface ClusterOptions {
  /** The address at which other instances reach this one. @default PANNIER_ADVERTISE, else where it listens */
  readonly advertise: string | undefined
  /** Addresses at which to look for other instances. @default PANNIER_PEERS, separated by commas */
  readonly addresses: readonly string[] | undefined
  readonly sealer: Sealer
  /** The ledger for claims. Without one, a member keeps them in memory. */
  readonly ledger: Ledger | undefined
  readonly clock: () => number
  readonly logger: () => Logger
}

/** The kinds of events that must also arrive while a configured bus is down, and at an instance that stops. */
const URGENT: ReadonlySet<string> = new Set(['cancelled', 'owner-changed'])
const REFUSAL: MessageReply = { status: REFUSED_STATUS }
/** The status for a duplicate message: the network delivered it twice, so its sender tries again under another id. */
const REPLAYED: MessageReply = { status: 503 }

export class Cluster {
  readonly mediaType = MESSAGE_TYPE
  readonly maxBytes = MAX_MESSAGE_BYTES
  readonly self: Self
  readonly members: Members
  readonly discovery: Discovery
  /** The parts that all scopes share. */
  readonly #shared: SharedParts
  readonly #messenger: Messenger
  readonly #ownLedger: MemberLedger
  readonly #addresses: readonly string[]
  readonly #heartbeat: MemberHeartbeat
  readonly #addressCheck: AddressCheck
  readonly #stop: ClusterStop
  readonly #scopes = new Map<string, ClusterScope>()

  constructor({ advertise, addresses, sealer, ledger, clock, logger }: ClusterOptions) {
    const self = new Self(advertisedAddress(advertise))
    this.self = self
    const messenger = new Messenger({ self, sealer, clock })
    const members = new Members({ self, messenger, clock, logger })
    this.members = members
    const forwarding = new Forwarding(messenger, members)
    const discovery = new Discovery({ self, members, messenger, logger })
    this.discovery = discovery
    const ownLedger = memberLedger({ self, members, messenger, local: memoryLedger({ clock }), clock })
    this.#shared = { self, members, discovery, ledger: ledger ?? ownLedger, forwarding, urgent: URGENT, logger }
    this.#messenger = messenger
    this.#ownLedger = ownLedger
    this.#addresses = peerAddresses(addresses)
    this.#heartbeat = new MemberHeartbeat({ self, members })
    this.#addressCheck = new AddressCheck({ self, messenger, logger })
    const hear = (events: unknown): void => this.#hear(events)
    this.#stop = new ClusterStop({ members, messenger, forwarding, ledger: ownLedger, hear })
    members.listen({
      met: () => this.#heartbeat.start(),
      vacated: (url) => void discovery.seek(url),
    })
  }

  /**
   * Creates the scope of an endpoint. `name` is the same in all processes. `bus`: the configured bus for its events, if
   * any.
   */
  scope(name: string, bus?: ClusterBus): ClusterScope {
    const scope = new ClusterScope({ ...this.#shared, name, bus })
    this.#scopes.set(name, scope)
    return scope
  }

  /** Removes the scope of an endpoint that is no longer served. With the last scope the process leaves the cluster. */
  async leave(scope: ClusterScope): Promise<void> {
    if (this.#scopes.get(scope.name) === scope) this.#scopes.delete(scope.name)
    scope.close()
    if (this.#scopes.size > 0) return
    await this.#stop.endPolls()
    this.#heartbeat.stop()
    this.#addressCheck.stop()
    this.discovery.stop()
    await this.#stop.sayBye()
  }

  /**
   * Connects to the configured addresses, of instances or of balancers. Resolves when each was tried once and the
   * instances there know this one, or after a timeout.
   */
  async seek(): Promise<void> {
    if (this.#addresses.length > 0) await settledWithin(this.#meet(this.#addresses, true), SOUGHT_WITHIN_MS)
  }

  /** Connects to the instances at these addresses; resolves when they know this one. */
  meet(addresses: readonly string[]): Promise<void> {
    return this.#meet(addresses, false)
  }

  checkAddress(): Promise<void> {
    return this.#addressCheck.check()
  }

  /** Announces the stop of this process, so that others do not take it for crashed while it hands off its things. */
  announceStop(): Promise<void> {
    return this.#stop.announce()
  }

  /** Refuses a message whose header does not prove that it is for this instance, without reading the body. */
  refusalOf(header: HeaderReader): MessageReply | undefined {
    const headers = this.#messenger.refusalOf(header(INSTANCE_HEADER))
    return headers && { ...REFUSAL, headers }
  }

  /**
   * Handles a message of another instance. Returns the reply, or undefined when the reply is streamed through the sink.
   */
  async receive(token: string, sink: ReplySink): Promise<MessageReply | undefined> {
    const received = this.#open(token)
    if ('status' in received) return received
    const { members } = this
    const { id, from, message } = received
    sink.setHeaders({ [INSTANCE_HEADER]: id })
    members.note(from)
    switch (message['kind']) {
      case 'hello':
        return jsonReply(members.greeted(from, message['wasLost'] === true))
      case 'events':
        this.#hear(message['events'])
        return { status: 202 }
      case 'stopping':
        members.stopping(from)
        return { status: 202 }
      case 'bye':
        members.left(from)
        return { status: 202 }
      case 'recent':
        return jsonReply({ events: members.recent(URGENT) })
      case 'ledger':
        return jsonReply(await this.#ownLedger.serve(message))
      default:
        return this.#receiveInScope(message, from, sink)
    }
  }

  async #receiveInScope(message: Json, from: Instance, sink: ReplySink): Promise<MessageReply | undefined> {
    const scope = this.#scopes.get(String(message['scope']))
    return scope === undefined ? goneReply('it does not serve this address') : scope.receive(message, from, sink)
  }

  #hear(events: unknown): void {
    for (const each of Array.isArray(events) ? (events as readonly unknown[]) : []) {
      const event = readEvent(each)
      if (event === undefined) continue
      this.#heartbeat.hear(event)
      this.#scopes.get(event.scope ?? '')?.hear(event)
    }
  }

  async #meet(addresses: readonly string[], isConfigured: boolean): Promise<void> {
    await Promise.all(addresses.map((address) => this.discovery.seek(address, isConfigured)))
    await this.members.all()
  }

  #open(token: string): Received | MessageReply {
    try {
      return this.#messenger.open(token)
    } catch (error) {
      if (error instanceof StateError) return error.code === 'STATE_REPLAYED' ? REPLAYED : REFUSAL
      throw error
    }
  }
}
