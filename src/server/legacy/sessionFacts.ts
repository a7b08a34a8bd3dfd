/**
 * Facts about session-era sessions, in memory: whether one has ended, its log level, the resources it watches. The bus
 * carries them to other instances, and a new member gets all of them. No request depends on them, so losing them is
 * harmless.
 */
import type { LoggingLevel } from '@modelcontextprotocol/client'
import { Quota } from '../../state/quota/index.ts'
import type { EventBus, ServerEvent } from '../lifecycle/eventBus.ts'
import { hiddenCaller } from '../limits/quotaCaller.ts'
import { WatchedResources } from '../limits/watchedResources.ts'
import { MAX_WATCHED_CHARS } from '../modern/subscriptions.ts'

interface Facts {
  readonly session: string
  readonly caller: string
  level: LoggingLevel
  readonly watched: Set<string>
  watchedChars: number
}

// The log level of a session that has not set one.
const FIRST_LEVEL: LoggingLevel = 'info'
const MAX_SESSIONS = 10_000
const MAX_WATCHED = 1000
// Limit of all sessions together. Above it, the largest caller loses the facts of its oldest session.
const MAX_ALL_WATCHED_CHARS = 64 * 1024 * 1024
// A client that ends more sessions than this within the life of a session evicts the entries of others, whose ids then
// open again. So DELETE is not a revocation; revoke access at the authenticator.
const MAX_ENDED = 100_000

export class SessionFacts {
  readonly #bus: EventBus
  readonly #clock: () => number
  readonly #watched: WatchedResources
  readonly #facts = new Map<string, Facts>()
  readonly #ended = new Map<string, number>()
  readonly #quota = new Quota<string>({
    all: { places: MAX_SESSIONS, chars: MAX_ALL_WATCHED_CHARS },
    evict: (session) => this.#drop(session),
  })

  constructor(bus: EventBus, clock: () => number, watched = new WatchedResources()) {
    this.#bus = bus
    this.#watched = watched
    this.#clock = clock
    bus.subscribe((event) => this.#hear(event))
  }

  /** The events with which another instance gets the same facts. */
  *events(): Generator<ServerEvent> {
    const now = this.#clock() / 1000
    for (const [session, expiresAt] of this.#ended) {
      if (expiresAt > now) yield { kind: 'session-ended', session, expiresAt }
    }
    for (const [session, { level, watched, caller: holder }] of this.#facts) {
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

  /** `caller`: the owner of the session. */
  setLevel(session: string, level: LoggingLevel, caller = session): void {
    this.#tell({ kind: 'session-noted', session, note: { level }, holder: hiddenCaller(caller) })
  }

  /** Returns false if the session has reached its limit. `caller`: the owner of the session. */
  watch(session: string, uri: string, caller = session): boolean {
    this.#tell({ kind: 'session-noted', session, note: { subscribe: uri }, holder: hiddenCaller(caller) })
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
      this.#watched.remove([note.unsubscribe], facts.caller)
    }
  }

  #add(facts: Facts, uri: string): void {
    const isFull = facts.watched.size >= MAX_WATCHED || facts.watchedChars + uri.length > MAX_WATCHED_CHARS
    if (isFull || facts.watched.has(uri) || this.#watched.add([uri], facts.caller).length === 0) return
    facts.watched.add(uri)
    this.#count(facts, uri.length)
  }

  #count(facts: Facts, chars: number): void {
    const { session, caller } = facts
    facts.watchedChars += chars
    this.#quota.put(session, { caller, chars: facts.watchedChars })
  }

  #drop(session: string): void {
    const facts = this.#facts.get(session)
    if (facts === undefined) return
    this.#watched.remove(facts.watched, facts.caller)
    this.#quota.delete(session)
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

  #factsOf(session: string, caller: string): Facts {
    const known = this.#facts.get(session)
    if (known !== undefined) return known
    const fresh: Facts = { session, caller, level: FIRST_LEVEL, watched: new Set(), watchedChars: 0 }
    this.#facts.set(session, fresh)
    this.#count(fresh, 0)
    return fresh
  }
}
