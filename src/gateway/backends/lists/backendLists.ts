/** What a server lists, as it was read last, and the tools of it that are withheld. It is read again when it may have changed. */
import { DAY_MS, type Json, unref } from '../../../protocol/index.ts'
import type { Logger } from '../../../server/internal.ts'
import type { BackendConfig } from '../../config/index.ts'
import { BackendError } from '../../errors.ts'
import type { Link } from '../../links/link.ts'
import { NO_LISTS, type ServerLists, type ReadLists, readLists } from './serverLists.ts'

export interface BackendListsOptions {
  readonly config: BackendConfig
  readonly logger: () => Logger
  /** Aborts when the server is not wanted any longer. */
  readonly signal: AbortSignal
  /** Compares the definitions of its tools with those of before; gives the names of the tools that are withheld. */
  readonly withheldOf: (tools: readonly Json[]) => Promise<ReadonlySet<string>>
  /** The lists have changed. */
  readonly onLists: () => void
  /** The lists are so old that they should be read again. */
  readonly onStale: () => void
}

/** Lists whose definitions have been compared. */
export interface CheckedLists extends ReadLists {
  readonly withheld: ReadonlySet<string>
}

/** However short the time is that a server gives. */
const LEAST_TTL_MS = 1000

export class BackendLists {
  latest: ServerLists = NO_LISTS
  withheld: ReadonlySet<string> = new Set()
  readonly #options: BackendListsOptions
  /** When the lists were read, in milliseconds of the process; undefined until they were. */
  #readAt: number | undefined
  #stale: ReturnType<typeof setTimeout> | undefined

  constructor(options: BackendListsOptions) {
    this.#options = options
  }

  /** How many entries there are in all lists. */
  get count(): number {
    return countOf(this.latest)
  }

  /** How long ago the lists were read, in seconds; undefined where they never were. */
  get ageSeconds(): number | undefined {
    return this.#readAt === undefined ? undefined : (performance.now() - this.#readAt) / 1000
  }

  /** Only definitions that are served are compared: others would be taken for those that are. */
  async readChecked(link: Link): Promise<CheckedLists> {
    const read = await this.read(link)
    return { ...read, withheld: await this.#options.withheldOf(read.lists.tools) }
  }

  async read(link: Link): Promise<ReadLists> {
    const { config, logger, signal } = this.#options
    const { name, settings } = config
    const late = AbortSignal.timeout(settings.startSeconds * 1000)
    const read = await readLists(link, AbortSignal.any([late, signal])).catch((error: unknown) => {
      if (!late.aborted) throw error
      const sentence = `has not listed what it offers within ${settings.startSeconds} seconds.`
      throw new BackendError('BACKEND_TIMEOUT', name, sentence)
    })
    if (read.isCut) logger().warn({ server: name }, 'A server lists more than is read. The rest is left out.')
    return read
  }

  /** Keeps what was read, until it may have changed. */
  take({ lists, withheld, ttlMs }: CheckedLists): void {
    this.latest = lists
    this.withheld = withheld
    this.#readAt = performance.now()
    this.#keepFor(ttlMs === undefined ? this.#limitMs : Math.min(Math.max(ttlMs, LEAST_TTL_MS), DAY_MS))
  }

  /** Reading them has failed: what was read before stays for a while longer. */
  keep(): void {
    this.#keepFor(this.#limitMs)
  }

  /** The server is this gateway itself: what it lists is the gateway's own, and would grow with each reading. */
  empty(): void {
    if (this.latest === NO_LISTS) return
    this.latest = NO_LISTS
    this.#options.onLists()
  }

  /** Compares the definitions again, because others may have been accepted. */
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
