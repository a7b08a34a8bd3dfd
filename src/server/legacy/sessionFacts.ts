/**
 * Facts of session-era sessions in memory: that one has ended, its log level, the resources it watches. The bus carries
 * them to other instances, and an instance that is met is told all of them. No request depends on them, so losing them is
 * harmless.
 */
import type { LoggingLevel } from '@modelcontextprotocol/client'
import type { EventBus, ServerEvent } from '../lifecycle/eventBus.ts'
import { hiddenHolder, Holdings } from '../limits/holders.ts'
import { WatchedResources } from '../limits/watchedResources.ts'
import { MAX_WATCHED_CHARS } from '../modern/subscriptions.ts'

interface Facts {
  readonly holder: string
  level: LoggingLevel
  readonly watched: Set<string>
  watchedChars: number
}

// The log level of a session that has not set one.
const FIRST_LEVEL: LoggingLevel = 'info'
const MAX_SESSIONS = 10_000
const MAX_WATCHED = 1000
// For all sessions together. Above it, the caller with the most loses those of its oldest session.
const MAX_ALL_WATCHED_CHARS = 64 * 1024 * 1024
// A client that ends this many sessions within the life of a session evicts the entries of others, whose ids then open
// again. So DELETE is not a revocation; revoke access at the authenticator.
const MAX_ENDED = 100_000

export class SessionFacts {
  readonly #bus: EventBus
  readonly #clock: () => number
  readonly #watched: WatchedResources
  readonly #facts = new Map<string, Facts>()
  readonly #ended = new Map<string, number>()
  readonly #holdings = new Holdings<string>()
  #watchedChars = 0

  constructor(bus: EventBus, clock: () => number, watched = new WatchedResources()) {
    this.#bus = bus
    this.#watched = watched
    this.#clock = clock
    bus.subscribe((event) => this.#hear(event))
  }

  /** The events that bring another instance to the same facts. */
  *events(): Generator<ServerEvent> {
    const now = this.#clock() / 1000
    for (const [session, expiresAt] of this.#ended) {
      if (expiresAt > now) yield { kind: 'session-ended', session, expiresAt }
    }
    for (const [session, { level, watched, holder }] of this.#facts) {
      if (level !== FIRST_LEVEL) yield { kind: 'session-noted', session, note: { level }, holder }
      for (const uri of watched) yield { kind: 'session-noted', session, note: { subscribe: uri }, holder }
    }
  }

  isEnded(session: string): boolean {
    return this.#ended.has(session)
  }

  levelOf(session: string): LoggingLevel {
    return this.#facts.get(session)?.level ?? FIRST_LEVEL
  }

  watchedBy(session: string): ReadonlySet<string> {
    return this.#facts.get(session)?.watched ?? new Set()
  }

  end(session: string, expiresAt: number): void {
    this.#tell({ kind: 'session-ended', session, expiresAt })
  }

  /** `holder` is whose session it is. */
  setLevel(session: string, level: LoggingLevel, holder = session): void {
    this.#tell({ kind: 'session-noted', session, note: { level }, holder: hiddenHolder(holder) })
  }

  /** False when the session has reached its limit. `holder` is whose session it is. */
  watch(session: string, uri: string, holder = session): boolean {
    this.#tell({ kind: 'session-noted', session, note: { subscribe: uri }, holder: hiddenHolder(holder) })
    return this.watchedBy(session).has(uri)
  }

  unwatch(session: string, uri: string): void {
    this.#tell({ kind: 'session-noted', session, note: { unsubscribe: uri } })
  }

  /** Applies the event at once and publishes it. Applying it again, when the bus delivers it, changes nothing. */
  #tell(event: ServerEvent): void {
    this.#hear(event)
    this.#bus.publish(event)
  }

  #hear(event: ServerEvent): void {
    if (event.kind === 'session-ended') this.#forget(event.session, event.expiresAt)
    if (event.kind !== 'session-noted' || this.isEnded(event.session)) return
    const facts = this.#factsOf(event.session, event.holder ?? event.session)
    const { note } = event
    if ('level' in note) facts.level = note.level as LoggingLevel
    else if ('subscribe' in note) this.#add(facts, note.subscribe)
    else if ('unsubscribe' in note && facts.watched.delete(note.unsubscribe)) {
      this.#count(facts, -note.unsubscribe.length)
      this.#watched.remove([note.unsubscribe], facts.holder)
    }
  }

  #add(facts: Facts, uri: string): void {
    const isFull = facts.watched.size >= MAX_WATCHED || facts.watchedChars + uri.length > MAX_WATCHED_CHARS
    if (isFull || facts.watched.has(uri) || this.#watched.add([uri], facts.holder).length === 0) return
    facts.watched.add(uri)
    this.#count(facts, uri.length)
    while (this.#watchedChars > MAX_ALL_WATCHED_CHARS) this.#dropOldest((sessions) => this.#charsOf(sessions))
  }

  /** The oldest session, with something to drop, of the holder with the most. */
  #dropOldest(size: (sessions: ReadonlySet<string>) => number): void {
    const [largest] = this.#holdings.largestFirst(size)
    for (const session of largest?.items ?? []) if (size(new Set([session])) > 0) return this.#drop(session)
  }

  #charsOf(sessions: ReadonlySet<string>): number {
    return [...sessions].reduce((sum, session) => sum + (this.#facts.get(session)?.watchedChars ?? 0), 0)
  }

  #count(facts: Facts, chars: number): void {
    facts.watchedChars += chars
    this.#watchedChars += chars
  }

  #drop(session: string): void {
    const facts = this.#facts.get(session)
    if (facts === undefined) return
    this.#watchedChars -= facts.watchedChars
    this.#watched.remove(facts.watched, facts.holder)
    this.#holdings.delete(facts.holder, session)
    this.#facts.delete(session)
  }

  #forget(session: string, expiresAt: number): void {
    this.#drop(session)
    const now = this.#clock() / 1000
    for (const [old, until] of this.#ended) {
      // All sessions live equally long, so the map is nearly in order of expiry, and the loop can stop early.
      if (until > now && this.#ended.size < MAX_ENDED) break
      this.#ended.delete(old)
    }
    this.#ended.set(session, expiresAt)
  }

  #factsOf(session: string, holder: string): Facts {
    const known = this.#facts.get(session)
    if (known !== undefined) return known
    const fresh: Facts = { holder, level: FIRST_LEVEL, watched: new Set(), watchedChars: 0 }
    if (this.#facts.size >= MAX_SESSIONS) this.#dropOldest(({ size }) => size)
    this.#facts.set(session, fresh)
    this.#holdings.add(holder, session)
    return fresh
  }
}
