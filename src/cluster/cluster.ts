/**
 * The part of a process that works with the other processes of a server: one per process, for all its endpoints. It
 * knows the members, receives their messages and events, and gives each endpoint its scope.
 */
import { type HeaderReader, type Json, type Logger, settledWithin, sleep } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import type { Sealer } from '../state/seal/index.ts'
import { type Ledger, memoryLedger } from '../state/stores/index.ts'
import { advertisedAddress, peerAddresses } from './address.ts'
import { AddressCheck } from './addressCheck.ts'
import { Discovery } from './discovery.ts'
import type { ClusterBus } from './events.ts'
import { Forwarding, goneReply } from './forward.ts'
import { MemberHeartbeat } from './heartbeat.ts'
import { type Instance, Self } from './instance.ts'
import { type MemberLedger, memberLedger } from './memberLedger.ts'
import { Members } from './members.ts'
import {
  discard,
  INSTANCE_HEADER,
  MAX_MESSAGE_BYTES,
  MESSAGE_TYPE,
  Messenger,
  type Received,
  REFUSED_STATUS,
} from './messenger.ts'
import { jsonReply, type MessageReply, type ReplySink } from './reply.ts'
import { readEvent, ClusterScope } from './scope.ts'
import { FETCH_EVENTS_EVERY_MS, LEFT_WITHIN_MS, SOUGHT_WITHIN_MS, STOPPING_WITHIN_MS } from './times.ts'

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
/** The status for a message that came before: the network has sent it twice, so its sender tries again under another id. */
const REPLAYED: MessageReply = { status: 503 }

export class Cluster {
  readonly mediaType = MESSAGE_TYPE
  readonly maxBytes = MAX_MESSAGE_BYTES
  readonly self: Self
  readonly members: Members
  readonly discovery: Discovery
  readonly ledger: Ledger
  readonly #options: ClusterOptions
  readonly #messenger: Messenger
  readonly #forwarding: Forwarding
  readonly #ownLedger: MemberLedger
  readonly #addresses: readonly string[]
  readonly #heartbeat: MemberHeartbeat
  readonly #addressCheck: AddressCheck
  readonly #scopes = new Map<string, ClusterScope>()
  readonly #left = new AbortController()
  #stopping: Promise<void> | undefined
  #fetching: Promise<void> | undefined

  constructor(options: ClusterOptions) {
    const { advertise, addresses, sealer, ledger, clock, logger } = options
    this.#options = options
    const self = new Self(advertisedAddress(advertise))
    const messenger = new Messenger({ self, sealer, clock })
    const members = new Members({ self, messenger, clock, logger })
    this.self = self
    this.members = members
    this.#messenger = messenger
    this.#addresses = peerAddresses(addresses)
    this.#forwarding = new Forwarding(messenger, members)
    this.discovery = new Discovery({ self, members, messenger, logger })
    this.#heartbeat = new MemberHeartbeat({ self, members })
    this.#addressCheck = new AddressCheck({ self, messenger, logger })
    this.#ownLedger = memberLedger({ self, members, messenger, local: memoryLedger({ clock }), clock })
    this.ledger = ledger ?? this.#ownLedger
    members.listen({
      met: () => this.#heartbeat.start(),
      vacated: (url) => void this.discovery.seek(url),
    })
  }

  /**
   * Creates the scope of an endpoint. `name` is the same in all processes. `bus`: the configured bus for its events, if
   * any.
   */
  scope(name: string, bus?: ClusterBus): ClusterScope {
    const { self, members, discovery, ledger } = this
    const { logger } = this.#options
    const forwarding = this.#forwarding
    const scope = new ClusterScope({ name, self, members, discovery, ledger, forwarding, bus, urgent: URGENT, logger })
    this.#scopes.set(name, scope)
    return scope
  }

  /** Removes the scope of an endpoint that is no longer served. The last one to leave says goodbye for the process. */
  async leave(scope: ClusterScope): Promise<void> {
    if (this.#scopes.get(scope.name) === scope) this.#scopes.delete(scope.name)
    scope.close()
    if (this.#scopes.size > 0) return
    this.#left.abort()
    await this.#fetching // a message after the goodbye would make this instance look alive
    this.#heartbeat.stop()
    this.#addressCheck.stop()
    this.discovery.stop()
    await settledWithin(this.#sayBye(), LEFT_WITHIN_MS)
  }

  /**
   * Connects to the configured addresses, each of an instance or of a balancer in front of some. Resolves when each was
   * tried once and the instances there know this one, or after a timeout.
   */
  async seek(): Promise<void> {
    if (this.#addresses.length > 0) await settledWithin(this.#meet(this.#addresses, true), SOUGHT_WITHIN_MS)
  }

  /** Resolves when the instances at these addresses and this one know each other. */
  meet(addresses: readonly string[]): Promise<void> {
    return this.#meet(addresses, false)
  }

  checkAddress(): Promise<void> {
    return this.#addressCheck.check()
  }

  /** Announces the stop of this process, so that the others do not count it as crashed: it hands off what it owns. */
  announceStop(): Promise<void> {
    this.members.isStopping = true
    this.#stopping ??= settledWithin(this.#tellStop(), STOPPING_WITHIN_MS)
    this.#fetching ??= this.#fetchUrgent(this.#left.signal)
    return this.#stopping
  }

  /** The refusal of a message whose header does not show that it is for this instance. The body is not read. */
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

  /**
   * Polls the members for urgent events: a stopping instance may still get calls on open connections when others can no
   * longer reach it.
   */
  async #fetchUrgent(signal: AbortSignal): Promise<void> {
    const fetchFrom = async (member: Instance): Promise<void> => {
      const reply = await this.#forwarding.ask(member, { kind: 'recent' })
      this.#hear(reply?.['events'])
    }
    while (!signal.aborted) {
      await sleep(FETCH_EVENTS_EVERY_MS, signal).catch(() => {})
      if (!signal.aborted) await Promise.all((await this.members.all()).map(fetchFrom))
    }
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

  /** Hands off the claims before it announces the stop: other instances then ask the next keeper. */
  async #tellStop(): Promise<void> {
    await this.#ownLedger.handOff()
    await this.#tellAll({ kind: 'stopping' })
  }

  async #sayBye(): Promise<void> {
    await Promise.all([this.members.flush(), this.#ownLedger.handOff()])
    await this.#tellAll({ kind: 'bye' })
  }

  async #tellAll(message: Json): Promise<void> {
    const tell = async (to: Instance): Promise<void> => {
      const delivery = await this.#messenger.send(to, message)
      if (delivery.kind === 'delivered') await discard(delivery.response)
    }
    await Promise.all(this.members.known().map(tell))
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
