/** What an instance needs to work with the others: its own name, whom it knows, and how it comes and goes. */
import { isObject, type Json, settledWithin, sleep } from '../../protocol/index.ts'
import type { Sealer } from '../../state/seal/index.ts'
import { type Ledger, memoryLedger } from '../../state/stores/index.ts'
import type { EventBus } from '../lifecycle/eventBus.ts'
import type { Logger } from '../logger.ts'
import { AddressCheck } from './addressCheck.ts'
import { CallForwarder } from './callForwarder.ts'
import { Forwarder } from './forwarder.ts'
import { PeerHeartbeat } from './heartbeat.ts'
import { type Instance, readAdvertised, Self } from './instance.ts'
import { MessageReceiver } from './receiver.ts'
import { discard, Messenger } from './messenger.ts'
import { type PeerBus, peerBus, withCancellations } from './events/peerBus.ts'
import { peerLedger } from './peerLedger.ts'
import { Peers } from './peers.ts'
import { Seeker } from './seeker.ts'
import { Successors } from './successors.ts'

export interface ReplicasOptions {
  /** Where other instances reach this one. @default PANNIER_ADVERTISE, else where it listens */
  readonly advertise: string | undefined
  /** Where to look for other instances. @default PANNIER_PEERS, separated by commas */
  readonly addresses: readonly string[] | undefined
  readonly sealer: Sealer
  /** What instances tell each other goes by this bus, where one is configured, else from one to the other. Cancellations go both ways. */
  readonly bus: EventBus | undefined
  /** Where instances claim calls, where one is configured, else in the memory of one of them. */
  readonly ledger: Ledger | undefined
  readonly clock: () => number
  readonly logger: () => Logger
}

const LEFT_WITHIN_MS = 3000
const TOLD_WITHIN_MS = 1000
const FETCH_EVERY_MS = 500
const SOUGHT_WITHIN_MS = 1000
const SERVED_WITHIN_MS = 1500
// Until then an instance that has started may not have met all others.
const SETTLED_MS = 3000

export class Replicas {
  readonly self: Self
  readonly peers: Peers
  readonly forwarder: Forwarder
  readonly calls: CallForwarder
  readonly seeker: Seeker
  readonly successors: Successors
  readonly bus: EventBus
  readonly ledger: Ledger
  /** What other instances post. */
  readonly messages: MessageReceiver
  readonly #messenger: Messenger
  readonly #addresses: readonly string[]
  readonly #peerBus: PeerBus
  readonly #since = performance.now()
  readonly #heartbeat: PeerHeartbeat
  readonly #addressCheck: AddressCheck

  constructor({ advertise, addresses, sealer, bus, ledger, clock, logger }: ReplicasOptions) {
    const self = new Self(advertisedAddress(advertise))
    const messenger = new Messenger({ self, sealer, clock })
    const peers = new Peers({ self, messenger, clock, logger })
    this.self = self
    this.#addresses = peerAddresses(addresses)
    this.peers = peers
    this.#messenger = messenger
    this.forwarder = new Forwarder(messenger, peers)
    this.calls = new CallForwarder(messenger, peers)
    this.#peerBus = peerBus(peers)
    this.seeker = new Seeker({ self, peers, messenger, logger })
    this.successors = new Successors(peers, messenger, logger)
    this.#heartbeat = new PeerHeartbeat({ self, peers })
    this.#addressCheck = new AddressCheck({ self, messenger, logger })
    peers.onMet = () => this.#heartbeat.start()
    peers.onVacated = (url) => void this.seeker.seek(url)
    this.#peerBus.subscribe((event) => this.#heartbeat.hear(event))
    const ownLedger = peerLedger({ self, peers, messenger, local: memoryLedger({ clock }) })
    this.bus = bus === undefined ? this.#peerBus : withCancellations(bus, peers, this.#peerBus)
    this.ledger = ledger ?? ownLedger
    this.messages = new MessageReceiver({
      messenger,
      peers,
      calls: this.calls,
      bus: this.#peerBus,
      ledger: ownLedger,
    })
  }

  /**
   * Meets whoever is at the configured addresses, each of which may be one of an instance or of a balancer before some.
   * Resolves when each was looked at once, and whoever is there knows of this instance; or after a moment.
   */
  async seek(): Promise<void> {
    if (this.#addresses.length > 0) await settledWithin(this.#meet(this.#addresses, true), SOUGHT_WITHIN_MS)
  }

  /** Resolves when those that are at these addresses now know this one, and this one knows them. */
  meet(addresses: readonly string[]): Promise<void> {
    return this.#meet(addresses, false)
  }

  async #meet(addresses: readonly string[], isConfigured: boolean): Promise<void> {
    await Promise.all(addresses.map((address) => this.seeker.seek(address, isConfigured)))
    await this.peers.all()
  }

  /** Calls this when an instance is gone without having said so: what it was doing is lost. */
  onCrashed(listener: () => void): void {
    this.peers.onCrashed = listener
  }

  checkAddress(): Promise<void> {
    return this.#addressCheck.check()
  }

  /**
   * The instance that goes on with a stream. Nobody can be sure who has just started, knows nobody, or knows others by a
   * bus only.
   */
  async whoHas(stream: string): Promise<Instance | 'nobody' | 'unsure'> {
    const asked = await this.peers.askAll({ kind: 'has', stream })
    const found = asked.find(({ reply }) => isObject(reply) && reply['has'] === true)
    if (found !== undefined) return found.instance
    const isSettled = performance.now() - this.#since > SETTLED_MS
    const isSure =
      isSettled && this.bus === this.#peerBus && asked.length > 0 && asked.every(({ reply }) => isObject(reply))
    return isSure ? 'nobody' : 'unsure'
  }

  /** The first instance that says it serves a caller, of those at these addresses and those that are known. */
  async whoServes(caller: string, addresses: readonly string[]): Promise<Instance | undefined> {
    const found = Promise.withResolvers<Instance | undefined>()
    const urls = new Set([...addresses, ...this.peers.known().flatMap(({ url }) => url ?? [])])
    urls.delete(this.self.url ?? '')
    const asked = Array.from(urls, async (url) => {
      const instance = await this.seeker.find(url)
      if (typeof instance === 'object' && (await this.#serves(instance, caller))) found.resolve(instance)
    })
    void settledWithin(Promise.allSettled(asked), SERVED_WITHIN_MS).then(() => found.resolve(undefined))
    return found.promise
  }

  async #serves(instance: Instance, caller: string): Promise<boolean> {
    const delivery = await this.#messenger.send(instance, { kind: 'serves', caller })
    const reply: unknown = delivery.kind === 'delivered' ? await delivery.response.json() : undefined
    return isObject(reply) && reply['serves'] === true
  }

  /**
   * Asks the others for cancellations until the signal aborts: an instance that stops may still get calls on open
   * connections when nobody reaches it any more.
   */
  async fetchCancellations(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(FETCH_EVERY_MS, signal).catch(() => {})
      if (signal.aborted) return
      for (const { reply } of await this.peers.askAll({ kind: 'cancellations' }))
        if (isObject(reply)) this.#peerBus.hear(reply['events'])
    }
  }

  /**
   * Tells the others that this instance is being stopped, before they cannot reach it any more: what it has is handed over,
   * so that it is not missed like one that was killed.
   */
  async sayStopping(): Promise<void> {
    this.peers.isStopping = true
    const told = Promise.all(this.peers.known().map((peer) => this.#tell(peer, { kind: 'stopping' })))
    await settledWithin(told, TOLD_WITHIN_MS)
  }

  async #tell(peer: Instance, message: Json): Promise<void> {
    const delivery = await this.#messenger.send(peer, message)
    if (delivery.kind === 'delivered') await discard(delivery.response)
  }

  /** The last thing before this process ends: what it published arrives, and nobody waits for it any more. */
  async leave(): Promise<void> {
    this.#heartbeat.stop()
    this.seeker.stop()
    await settledWithin(this.#sayBye(), LEFT_WITHIN_MS)
  }

  async #sayBye(): Promise<void> {
    await this.peers.flush()
    await Promise.all(this.peers.known().map((peer) => this.#tell(peer, { kind: 'bye' })))
  }
}

/** An empty variable is none. */
function advertisedAddress(option: string | undefined): string | undefined {
  if (option !== undefined) return readAdvertised(option, 'The option "advertise"')
  const advertised = env('PANNIER_ADVERTISE')
  return advertised === undefined ? undefined : readAdvertised(advertised, 'PANNIER_ADVERTISE')
}

function peerAddresses(option: readonly string[] | undefined): readonly string[] {
  if (option !== undefined) return option.map((address) => readAdvertised(address.trim(), 'The option "peers"'))
  const listed = env('PANNIER_PEERS')?.split(',') ?? []
  return listed.map((address) => readAdvertised(address.trim(), 'PANNIER_PEERS'))
}

function env(name: string): string | undefined {
  return process.env[name] || undefined
}
