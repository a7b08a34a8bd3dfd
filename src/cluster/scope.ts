/**
 * One endpoint of a process as other processes see it: a server, or a route of a gateway. Each instance has the same
 * scopes. Things are forwarded, handed off and resumed only between equal scopes. All scopes of a process share its
 * members, heartbeat, address and ledger.
 */
import { errorDetails, isObject, type Json, type Logger, runLater, settledWithin } from '../protocol/index.ts'
import type { Ledger } from '../state/stores/index.ts'
import type { Discovery } from './discovery.ts'
import type { ClusterBus, ClusterEvent } from './events.ts'
import {
  type Forwarded,
  type Forwarding,
  type ForwardOptions,
  goneReply,
  jsonReply,
  type MessageReply,
  type ReplySink,
} from './forward.ts'
import type { Instance, Self } from './instance.ts'
import type { Members, MembersListener } from './members.ts'
import {
  HANDED_OFF_WITHIN_MS,
  LOOK_AGAIN_MS,
  LOOK_TWICE_MS,
  MET_WITHIN_MS,
  OWNER_WITHIN_MS,
  TURNS_TO_CLOSE,
} from './times.ts'

/** Handles the messages of one kind. Returns the reply, or undefined when the reply is streamed through the sink. */
export type InstanceMessageHandler = (
  message: Json,
  from: Instance,
  sink: ReplySink,
) => Promise<MessageReply | undefined>

/** The parts of a process that all its scopes share. */
export interface SharedParts {
  readonly self: Self
  readonly members: Members
  readonly discovery: Discovery
  readonly ledger: Ledger
  readonly forwarding: Forwarding
  /** The kinds of events that members also send to each other, so that they arrive while the bus is down. */
  readonly urgent: ReadonlySet<string>
  readonly logger: () => Logger
}

export interface ScopeParts extends SharedParts {
  readonly name: string
  /** The configured bus that all instances share. Without it, members send events to each other. */
  readonly bus: ClusterBus | undefined
}

export class ClusterScope {
  readonly name: string
  readonly bus: ClusterBus
  readonly self: Self
  readonly members: Members
  readonly discovery: Discovery
  readonly ledger: Ledger
  readonly #parts: ScopeParts
  readonly #heard = new Set<(event: ClusterEvent) => void>()
  readonly #handlers = new Map<string, InstanceMessageHandler>()
  readonly #owns = new Map<string, (key: string) => boolean>()
  readonly #stops: (() => void)[] = []

  constructor(parts: ScopeParts) {
    this.#parts = parts
    this.name = parts.name
    this.self = parts.self
    this.members = parts.members
    this.discovery = parts.discovery
    this.ledger = parts.ledger
    this.bus = parts.bus === undefined ? this.#memberBus() : this.#withUrgent(parts.bus)
    this.handle('owns', async ({ of: kind, key }) =>
      jsonReply({ owns: this.#owns.get(String(kind))?.(String(key)) === true }),
    )
  }

  /** Registers the handler of a kind of message. */
  handle(kind: string, handler: InstanceMessageHandler): void {
    this.#handlers.set(kind, handler)
  }

  /** Registers the check whether this instance owns a thing of a kind. */
  handleOwned(kind: string, owns: (key: string) => boolean): void {
    this.#owns.set(kind, owns)
  }

  /** Registers the receiver of handed-off things; it returns false if it cannot resume one. */
  handleHandOff(resume: (thing: Json) => boolean | Promise<boolean>): void {
    this.handle('hand-off', async ({ thing }, _, sink) => {
      // A sender whose reply timed out has already offered the thing to another instance. A process that was frozen
      // reads the message first, and sees only a moment later that the sender has disconnected.
      await new Promise((resolve) => setTimeout(resolve, LOOK_TWICE_MS))
      for (let turns = 0; turns < TURNS_TO_CLOSE; turns++) await new Promise<void>((resolve) => runLater(resolve))
      return jsonReply({ isTaken: !sink.disconnected && (await resume(thing as Json)) })
    })
  }

  /** Calls the listener; its `standing` facts are those of this scope. */
  listen({ standing, ...listener }: MembersListener & Required<Pick<MembersListener, 'standing'>>): void {
    const scoped = (): Iterable<ClusterEvent> => Array.from(standing(), (event) => ({ ...event, scope: this.name }))
    this.#stops.push(this.members.listen({ ...listener, standing: scoped }))
  }

  close(): void {
    for (const stop of this.#stops.splice(0)) stop()
  }

  /** Handles a message of another instance for this scope. */
  async receive(message: Json, from: Instance, sink: ReplySink): Promise<MessageReply | undefined> {
    const handler = this.#handlers.get(String(message['kind']))
    return handler === undefined ? goneReply('it cannot read this message') : handler(message, from, sink)
  }

  /** Handles an event of another instance. */
  hear(event: ClusterEvent): void {
    for (const listener of this.#heard) listener(event)
  }

  forward(to: Instance, message: Json, options?: ForwardOptions): Promise<Forwarded> {
    return this.#parts.forwarding.forward(to, { ...message, scope: this.name }, options)
  }

  /** Whether another instance could accept a hand-off. */
  async canHandOff(): Promise<boolean> {
    return (await this.members.staying()).length > 0
  }

  /** Hands a thing off; returns its new owner, or undefined if no instance accepts it. */
  async handOff(thing: Json): Promise<Instance | undefined> {
    const refused = new Set<string>()
    const began = performance.now()
    for (;;) {
      // Read again for each attempt: the successor of an instance that is gone may have been found.
      const staying = (await this.members.staying()).filter(({ id }) => !refused.has(id))
      const to = staying[Math.floor(Math.random() * staying.length)]
      const waitedMs = performance.now() - began
      if (waitedMs > (to === undefined ? MET_WITHIN_MS : HANDED_OFF_WITHIN_MS)) return undefined
      if (to === undefined && !this.members.everMet) return undefined
      if (to === undefined) await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
      else if (await this.#offer(to, thing)) return to
      else refused.add(to.id)
    }
  }

  /** The first instance that reports to own a thing, among those at these addresses and the known members. */
  async whoOwnsAt(addresses: readonly string[], kind: string, key: string): Promise<Instance | undefined> {
    const found = Promise.withResolvers<Instance | undefined>()
    const urls = new Set([...addresses, ...this.members.known().flatMap(({ url }) => url ?? [])])
    urls.delete(this.self.url ?? '')
    const asked = Array.from(urls, async (url) => {
      const instance = await this.discovery.find(url)
      if (typeof instance === 'object' && (await this.#owner(instance, kind, key))) found.resolve(instance)
    })
    void settledWithin(Promise.allSettled(asked), OWNER_WITHIN_MS).then(() => found.resolve(undefined))
    return found.promise
  }

  /** Asks an instance whether it owns a thing; undefined if it does not answer. */
  async #owner(instance: Instance, kind: string, key: string): Promise<boolean | undefined> {
    const reply = await this.#parts.forwarding.ask(instance, { kind: 'owns', of: kind, key, scope: this.name })
    return reply && reply['owns'] === true
  }

  async #offer(to: Instance, thing: Json): Promise<boolean> {
    try {
      const reply = await this.#parts.forwarding.ask(to, { kind: 'hand-off', thing, scope: this.name })
      return reply?.['isTaken'] === true
    } catch (error) {
      this.#parts.logger().warn({ url: to.url, err: errorDetails(error) }, 'A call could not be handed off.')
      return false
    }
  }

  #publish(event: ClusterEvent): void {
    this.members.publish({ ...event, scope: this.name })
  }

  #subscribe(listener: (event: ClusterEvent) => void): () => void {
    this.#heard.add(listener)
    return () => this.#heard.delete(listener)
  }

  #memberBus(): ClusterBus {
    return {
      subscribe: (listener) => this.#subscribe(listener),
      publish: (event) => {
        this.hear(event)
        this.#publish(event)
      },
    }
  }

  /** Publishes urgent events on the bus and to the members, so subscribers may get them twice. */
  #withUrgent(bus: ClusterBus): ClusterBus {
    const { urgent } = this.#parts
    return {
      publish: (event) => {
        bus.publish(event)
        if (urgent.has(event.kind)) this.#publish(event)
      },
      subscribe: (listener) => {
        const stops = [bus.subscribe(listener), this.#subscribe((event) => urgent.has(event.kind) && listener(event))]
        return () => {
          for (const stop of stops) stop()
        }
      },
    }
  }
}

/** Reads an event of another instance; undefined if it is malformed. */
export function readEvent(value: unknown): ClusterEvent | undefined {
  return isObject(value) && typeof value['kind'] === 'string' ? (value as ClusterEvent) : undefined
}
