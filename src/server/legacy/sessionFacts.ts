/**
 * Soft facts of session-era sessions: that one has ended, which log level it chose, which resources it watches. They
 * reach the other instances by the bus. None of them is needed to serve a request, so losing them is harmless.
 */
import type { LoggingLevel } from '@modelcontextprotocol/client'
import type { EventBus, ServerEvent } from '../lifecycle/eventBus.ts'

interface Facts {
  level: LoggingLevel
  readonly watched: Set<string>
  watchedChars: number
}

// What a session hears that never chose a level.
const FIRST_LEVEL: LoggingLevel = 'info'
const MAX_SESSIONS = 10_000
const MAX_WATCHED = 1000
const MAX_WATCHED_CHARS = 65_536
// Of all sessions together; beyond it the oldest are forgotten.
const MAX_ALL_WATCHED_CHARS = 64 * 1024 * 1024
// Whoever ends this many sessions of their own within a session's lifetime pushes out those of others, which then open
// again for whoever still holds their ids: DELETE is good manners here and no revocation. Revoke at the authenticator.
const MAX_ENDED = 100_000

export class SessionFacts {
  readonly #bus: EventBus
  readonly #clock: () => number
  readonly #facts = new Map<string, Facts>()
  readonly #ended = new Map<string, number>()
  #watchedChars = 0

  constructor(bus: EventBus, clock: () => number) {
    this.#bus = bus
    this.#clock = clock
    bus.subscribe((event) => this.#hear(event))
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

  setLevel(session: string, level: LoggingLevel): void {
    this.#tell({ kind: 'session-noted', session, note: { level } })
  }

  /** False when the session watches as much as it may. */
  watch(session: string, uri: string): boolean {
    this.#tell({ kind: 'session-noted', session, note: { subscribe: uri } })
    return this.watchedBy(session).has(uri)
  }

  unwatch(session: string, uri: string): void {
    this.#tell({ kind: 'session-noted', session, note: { unsubscribe: uri } })
  }

  /** Here it holds at once, whatever way the bus takes; hearing it a second time changes nothing. */
  #tell(event: ServerEvent): void {
    this.#hear(event)
    this.#bus.publish(event)
  }

  #hear(event: ServerEvent): void {
    if (event.kind === 'session-ended') this.#forget(event.session, event.expiresAt)
    if (event.kind !== 'session-noted') return
    const facts = this.#factsOf(event.session)
    const { note } = event
    if ('level' in note) facts.level = note.level as LoggingLevel
    else if ('subscribe' in note) this.#add(facts, note.subscribe)
    else if ('unsubscribe' in note && facts.watched.delete(note.unsubscribe))
      this.#count(facts, -note.unsubscribe.length)
  }

  #add(facts: Facts, uri: string): void {
    const isFull = facts.watched.size >= MAX_WATCHED || facts.watchedChars + uri.length > MAX_WATCHED_CHARS
    if (isFull || facts.watched.has(uri)) return
    facts.watched.add(uri)
    this.#count(facts, uri.length)
    for (const [oldest, { watchedChars }] of this.#facts) {
      if (this.#watchedChars <= MAX_ALL_WATCHED_CHARS) break
      if (watchedChars > 0) this.#drop(oldest)
    }
  }

  #count(facts: Facts, chars: number): void {
    facts.watchedChars += chars
    this.#watchedChars += chars
  }

  #drop(session: string): void {
    this.#watchedChars -= this.#facts.get(session)?.watchedChars ?? 0
    this.#facts.delete(session)
  }

  #forget(session: string, expiresAt: number): void {
    this.#drop(session)
    const now = this.#clock() / 1000
    for (const [old, until] of this.#ended) {
      // All live equally long, so those that ended first are mostly the first to expire; the rest can wait.
      if (until > now && this.#ended.size < MAX_ENDED) break
      this.#ended.delete(old)
    }
    this.#ended.set(session, expiresAt)
  }

  #factsOf(session: string): Facts {
    const known = this.#facts.get(session)
    if (known !== undefined) return known
    const fresh: Facts = { level: FIRST_LEVEL, watched: new Set(), watchedChars: 0 }
    this.#facts.set(session, fresh)
    for (const oldest of this.#facts.keys()) {
      if (this.#facts.size <= MAX_SESSIONS) break
      this.#drop(oldest)
    }
    return fresh
  }
}
