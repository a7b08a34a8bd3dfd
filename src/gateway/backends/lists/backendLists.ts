/** The latest lists of a server, and its withheld tools. They are refreshed when they may have changed. */
import { DAY_MS, type Json, unref } from '../../../protocol/index.ts'
import type { Logger } from '../../../server/internal.ts'
import type { BackendConfig } from '../../config/index.ts'
import { BackendError } from '../../errors.ts'
import type { Link } from '../../links/link.ts'
import { type ListsCaching, NO_CACHING, NO_LISTS, type ServerLists, type ReadLists, readLists } from './serverLists.ts'

export interface BackendListsOptions {
  readonly config: BackendConfig
  readonly logger: () => Logger
  /** Aborts when the server is no longer needed. */
  readonly signal: AbortSignal
  /** Compares the definitions of its tools with the pinned ones; returns the names of withheld tools. */
  readonly withheldOf: (tools: readonly Json[]) => Promise<ReadonlySet<string>>
  /** Called when the lists have changed or the server has come up. */
  readonly onLists: () => void
  /** Called when the lists have expired and should be refreshed. */
  readonly onStale: () => void
}

/** Lists whose definitions have been compared. */
export interface CheckedLists extends ReadLists {
  readonly withheld: ReadonlySet<string>
}

/** Minimum ttl of lists, however short the server's is. */
const LEAST_TTL_MS = 1000

export class BackendLists {
  latest: ServerLists = NO_LISTS
  caching: ListsCaching = NO_CACHING
  /** The tools withheld because their definitions have not been accepted. */
  withheld: ReadonlySet<string> = new Set()
  /** The patterns of its entry that match none of its tools. */
  unmatched: ReadLists['unmatched'] = { allow: [], deny: [] }
  readonly #options: BackendListsOptions
  /** Time of the last read, in milliseconds of the process; undefined before the first. */
  #readAt: number | undefined
  #stale: ReturnType<typeof setTimeout> | undefined

  constructor(options: BackendListsOptions) {
    this.#options = options
  }

  /** The lists as callers get them: without withheld tools. */
  served(lists = this.latest): ServerLists {
    return { ...lists, tools: lists.tools.filter(({ name }) => !this.withheld.has(String(name))) }
  }

  /** The number of entries in all lists. */
  get count(): number {
    return countOf(this.latest)
  }

  /** The age of the lists, in seconds; undefined if they were never read. */
  get ageSeconds(): number | undefined {
    return this.#readAt === undefined ? undefined : (performance.now() - this.#readAt) / 1000
  }

  /**
   * Reads the lists and compares their definitions. Use it only for lists that will be served, because the comparison
   * pins new definitions.
   */
  async readChecked(link: Link): Promise<CheckedLists> {
    const read = await this.read(link)
    return { ...read, withheld: await this.#options.withheldOf(read.lists.tools) }
  }

  async read(link: Link): Promise<ReadLists> {
    const { config, logger, signal } = this.#options
    const { name, settings } = config
    const late = AbortSignal.timeout(settings.startSeconds * 1000)
    const read = await readLists(link, settings.tools, AbortSignal.any([late, signal])).catch((error: unknown) => {
      if (!late.aborted) throw error
      const sentence = `has not listed what it offers within ${settings.startSeconds} seconds.`
      throw new BackendError('BACKEND_TIMEOUT', name, sentence)
    })
    const { isCut, tooLong: count } = read
    if (count > 0)
      logger().warn({ server: name, count }, 'A server lists names or addresses that are too long. They are left out.')
    if (isCut) logger().warn({ server: name }, 'A server lists more than is read. The rest is left out.')
    return read
  }

  /** Stores the lists until they expire. */
  take({ lists, caching, withheld, unmatched, ttlMs }: CheckedLists): void {
    this.latest = lists
    this.caching = caching
    this.unmatched = unmatched
    this.withheld = withheld
    this.#readAt = performance.now()
    this.#keepFor(ttlMs === undefined ? this.#limitMs : Math.min(Math.max(ttlMs, LEAST_TTL_MS), DAY_MS))
  }

  /** Extends the life of the previous lists after a failed read. */
  keep(): void {
    this.#keepFor(this.#limitMs)
  }

  /**
   * Empties the lists of a server that is this gateway itself: they are the gateway's own, and would grow with each
   * read.
   */
  empty(): void {
    if (this.latest === NO_LISTS) return
    this.latest = NO_LISTS
    this.#options.onLists()
  }

  /** Compares the definitions again, because some may have been accepted. */
  async recheck(): Promise<void> {
    const { latest } = this
    const withheld = await this.#options.withheldOf(latest.tools)
    if (this.latest !== latest) return this.recheck()
    this.withheld = withheld
    this.#options.onLists()
  }

  close(): void {
    clearTimeout(this.#stale)
  }

  get #limitMs(): number {
    return this.#options.config.settings.listSeconds * 1000
  }

  #keepFor(ms: number): void {
    clearTimeout(this.#stale)
    this.#stale = unref(setTimeout(this.#options.onStale, ms))
  }
}

export function countOf(lists: ServerLists): number {
  return Object.values(lists).reduce((count, entries) => count + entries.length, 0)
}
