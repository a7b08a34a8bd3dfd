/** GET streams of sessions: change notifications only, never a question (RA-11). */
import type { EventBus, ServerEvent } from '../../lifecycle/eventBus.ts'
import type { LegacyStream } from './stream.ts'
import type { Principal } from '../../auth/authenticator.ts'
import type { Caller } from '../../call.ts'
import type { LegacyStreams, StreamPosition } from './streams.ts'
import { notificationMessage } from '../../results.ts'
import type { SessionFacts } from '../sessionFacts.ts'
import type { Sink } from '../../http/exchange.ts'
import { afterLife, notificationFor, type WatchGuard } from '../../modern/subscriptions.ts'

/** When a client opens a stream again whose life is over. */
const REOPEN_MS = 1000

interface Open {
  readonly stream: LegacyStream
  readonly principal: Principal | undefined
}

export class GetStreams {
  readonly #streams: LegacyStreams
  readonly #facts: SessionFacts
  /** The newest stream of each session. A message is sent on one stream only. */
  readonly #bySession = new Map<string, Open>()
  readonly #guard: WatchGuard
  readonly #lifeMs: number | undefined
  #isClosed = false

  constructor(streams: LegacyStreams, facts: SessionFacts, bus: EventBus, guard: WatchGuard, lifeMs?: number) {
    this.#lifeMs = lifeMs
    this.#streams = streams
    this.#facts = facts
    this.#guard = guard
    bus.subscribe((event) => this.#spread(event))
  }

  open(caller: Caller, sink: Sink): void {
    if (!sink.disconnected) this.#connect(caller, this.#streams.begin(caller), sink, 0)
  }

  /** Reconnects a client: it gets the messages that it missed, and all later ones. */
  resume(place: StreamPosition, caller: Caller, sink: Sink): void {
    if (!sink.disconnected) this.#connect(caller, this.#streams.at(place, caller), sink, place.after)
  }

  /** Ends every stream, and from then on each new one: their clients reconnect to another instance. */
  closeAll(): void {
    this.#isClosed = true
    for (const { stream } of this.#bySession.values()) stream.finish()
    this.#bySession.clear()
  }

  /** Drops the stream of a session that has ended, to which no client can come back. */
  #drop(session: string): void {
    const { stream } = this.#bySession.get(session) ?? {}
    if (stream === undefined) return
    stream.finish()
    this.#streams.drop(stream)
    this.#bySession.delete(session)
  }

  #connect({ peer: { session }, principal }: Caller, stream: LegacyStream, sink: Sink, after: number): void {
    if (session === undefined) return
    stream.connect(sink, after)
    if (this.#isClosed) return stream.finish()
    this.#bySession.set(session, { stream, principal })
    const forget = (): void => {
      if (this.#bySession.get(session)?.stream === stream) this.#bySession.delete(session)
    }
    stream.onEvicted = forget
    const timer = afterLife(this.#lifeMs, () => {
      stream.hangUp(REOPEN_MS)
      this.#streams.expireSoon(stream, forget)
    })
    sink.onDisconnect(() => {
      clearTimeout(timer)
      this.#streams.expireSoon(stream, forget)
    })
  }

  #spread(event: ServerEvent): void {
    if (event.kind === 'session-ended') this.#drop(event.session)
    if (event.kind !== 'changed' && event.kind !== 'updated') return
    for (const [session, { stream, principal }] of this.#bySession) {
      const news = notificationFor(event, this.#filterOf(session), principal, this.#guard)
      if (news !== undefined) stream.send(notificationMessage(news.method, news.params))
    }
  }

  /** The events for a session: changes of all lists, and of the resources that it subscribed to. */
  #filterOf(session: string) {
    const resourceSubscriptions = [...this.#facts.watchedBy(session)]
    return {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions,
    } as const
  }
}
