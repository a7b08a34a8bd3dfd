/**
 * Soft facts of session-era sessions: that one has ended, which log level it chose, which resources it watches. They
 * reach the other instances by the bus. None of them is needed to serve a request, so losing them is harmless.
 */
import type { LoggingLevel } from '@modelcontextprotocol/client'
import type { EventBus, ServerEvent } from './eventBus.ts'

interface Notes {
  level: LoggingLevel
  readonly watched: Set<string>
}

// What a session hears that never chose a level.
const FIRST_LEVEL: LoggingLevel = 'info'
const MAX_SESSIONS = 10_000
const MAX_WATCHED = 1000
const MAX_ENDED = 100_000

export class SessionNotes {
  readonly #bus: EventBus
  readonly #clock: () => number
  readonly #notes = new Map<string, Notes>()
  readonly #ended = new Map<string, number>()

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

  watch(session: string, uri: string): void {
    this.#tell({ kind: 'session-noted', session, note: { subscribe: uri } })
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
    else if ('subscribe' in note && notes.watched.size < MAX_WATCHED) notes.watched.add(note.subscribe)
    else if ('unsubscribe' in note) notes.watched.delete(note.unsubscribe)
  }

  #forget(session: string, expiresAt: number): void {
    this.#notes.delete(session)
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
    const fresh: Notes = { level: FIRST_LEVEL, watched: new Set() }
    this.#notes.set(session, fresh)
    for (const oldest of this.#notes.keys()) {
      if (this.#notes.size <= MAX_SESSIONS) break
      this.#notes.delete(oldest)
    }
    return fresh
  }
}
