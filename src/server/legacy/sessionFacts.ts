/**
 * Soft facts of session-era sessions: that one has ended, which log level it chose, which resources it watches. They
 * reach the other instances by the bus. None of them is needed to serve a request, so losing them is harmless.
 */
import type { LoggingLevel } from '@modelcontextprotocol/client'
import type { EventBus, ServerEvent } from '../lifecycle/eventBus.ts'

interface Notes {
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

export class SessionNotes {
  readonly #bus: EventBus
  readonly #clock: () => number
  readonly #notes = new Map<string, Notes>()
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
    return this.#notes.get(session)?.level ?? FIRST_LEVEL
  }

  watchedBy(session: string): ReadonlySet<string> {
    return this.#notes.get(session)?.watched ?? new Set()
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
    const notes = this.#notesOf(event.session)
    const { note } = event
    if ('level' in note) notes.level = note.level as LoggingLevel
    else if ('subscribe' in note) this.#add(notes, note.subscribe)
    else if ('unsubscribe' in note && notes.watched.delete(note.unsubscribe))
      this.#count(notes, -note.unsubscribe.length)
  }

  #add(notes: Notes, uri: string): void {
    const isFull = notes.watched.size >= MAX_WATCHED || notes.watchedChars + uri.length > MAX_WATCHED_CHARS
    if (isFull || notes.watched.has(uri)) return
    notes.watched.add(uri)
    this.#count(notes, uri.length)
    for (const [oldest, { watchedChars }] of this.#notes) {
      if (this.#watchedChars <= MAX_ALL_WATCHED_CHARS) break
      if (watchedChars > 0) this.#drop(oldest)
    }
  }

  #count(notes: Notes, chars: number): void {
    notes.watchedChars += chars
    this.#watchedChars += chars
  }

  #drop(session: string): void {
    this.#watchedChars -= this.#notes.get(session)?.watchedChars ?? 0
    this.#notes.delete(session)
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

  #notesOf(session: string): Notes {
    const known = this.#notes.get(session)
    if (known !== undefined) return known
    const fresh: Notes = { level: FIRST_LEVEL, watched: new Set(), watchedChars: 0 }
    this.#notes.set(session, fresh)
    for (const oldest of this.#notes.keys()) {
      if (this.#notes.size <= MAX_SESSIONS) break
      this.#drop(oldest)
    }
    return fresh
  }
}
