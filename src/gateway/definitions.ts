/**
 * Compares the definitions of tools with earlier ones. With the policy `warn`, a change since the gateway's start is
 * logged. With `pin` or `freeze`, definitions are compared with the pins in a file or a database, also after a restart, and a changed
 * tool is withheld until the change is accepted.
 */
import { type Json, unref } from '../protocol/index.ts'
import { type Logger, shortened } from '../server/internal.ts'
import {
  acceptOffered,
  checkDefinitions,
  MAX_PIN_CHARS,
  memoryPins,
  type OfferedTool,
  offeredTools,
  type PinCheck,
  type PinStore,
  prepareDigests,
} from './catalog/index.ts'
import { digestOf } from '../state/internal.ts'
import { acceptCommand, type BackendConfig } from './config/index.ts'

export interface DefinitionsOptions {
  readonly logger: () => Logger
  /** The mcp.json file, if there is one. */
  readonly file: string | undefined
  readonly pins: PinStore
  /** The name of a tool at `/mcp`. */
  readonly nameOf: (server: string, tool: string) => string
  /** Called when definitions may have been accepted. */
  readonly onAccepted: () => void
}

/** A definition that waits, with the tool's name at `/mcp` and a digest by which it is accepted. */
export interface NamedOffer extends OfferedTool {
  readonly name: string
  readonly version: string
}

const NONE: PinCheck = { pins: new Map(), changed: [], withheld: new Set(), unpinned: 0 }
/** Maximum number of tools of one server reported at once. */
const MAX_REPORTED = 20
/** Retry interval for unusable pins: another process may hold their lock. */
const RETRY_MS = 5000
const CHANGED = 'A server has changed the definition of a tool.'
const WITHHELD = 'A server has a new or changed definition of a tool, which is withheld until that is accepted.'
const MORE = 'A server has new or changed definitions of more tools than are reported.'
const FULL = 'The definitions of a server are more than can be pinned.'
const UNUSABLE = 'The pins of tools cannot be used, so all tools of a server are withheld.'

export class Definitions {
  readonly #options: DefinitionsOptions
  readonly #seen = memoryPins()
  readonly #withheld = new Map<string, ReadonlySet<string>>()
  readonly #unusable = new Map<string, string>()
  readonly #unpinned = new Map<string, number>()
  #stopWatching: (() => void) | undefined
  #isClosed = false
  #retry: ReturnType<typeof setTimeout> | undefined

  constructor(options: DefinitionsOptions) {
    this.#options = options
  }

  /** Compares the tools of a server; returns the names of withheld ones. */
  async withheldOf({ name, settings }: BackendConfig, tools: readonly Json[]): Promise<ReadonlySet<string>> {
    const policy = settings.definitions
    try {
      if (policy !== 'warn') this.#stopWatching ??= this.#options.pins.watch(this.#options.onAccepted)
      await prepareDigests(tools, policy !== 'warn')
      const nameOf = (tool: string): string => this.#options.nameOf(name, tool)
      const store = policy === 'warn' ? this.#seen : this.#options.pins
      let check = NONE
      await store.update((pins) => {
        check = checkDefinitions(pins, name, { tools, policy, nameOf })
        return check.pins
      })
      if (tools.length > 0) this.#unusable.delete(name) // an empty list does not show that the pins are usable
      this.#report(name, check)
      if (policy !== 'warn') this.#reportUnpinned(name, check)
      return check.withheld
    } catch (error) {
      const why = error instanceof Error ? error.message : ''
      if (this.#unusable.get(name) !== why) this.#options.logger().error({ server: name, why }, UNUSABLE)
      this.#unusable.set(name, why)
      this.#tryLater()
      return new Set(tools.map((tool) => String(tool['name'])))
    }
  }

  /** The reason why tools of a server are withheld and cannot be accepted; undefined if there are none. */
  faultOf(server: string): string | undefined {
    const [unusable, unpinned] = [this.#unusable.get(server), this.#unpinned.get(server)]
    if (unusable !== undefined)
      return `All tools of the server "${server}" are withheld, because their pins cannot be used: ${unusable}`
    return unpinned === undefined ? undefined : this.#fullText(server, unpinned)
  }

  /** Where definitions are pinned. */
  get place(): string {
    return this.#options.pins.place
  }

  /** The tools whose new or changed definitions wait to be accepted. */
  async offered(): Promise<readonly NamedOffer[]> {
    const { pins, nameOf } = this.#options
    const offered = offeredTools(await pins.load())
    return offered.map((each) => ({ ...each, name: nameOf(each.server, each.tool), version: digestOf(each.offered) }))
  }

  /** Accepts a definition as it was shown; false if it has changed since, or no longer waits. */
  async accept({ server, tool, version }: Pick<NamedOffer, 'server' | 'tool' | 'version'>): Promise<boolean> {
    let isShown = false
    await this.#options.pins.update((pins) => {
      isShown = offeredTools(pins).some(
        (each) => each.server === server && each.tool === tool && digestOf(each.offered) === version,
      )
      return isShown ? acceptOffered(pins, [{ server, tool }]) : pins
    })
    if (isShown) this.#options.onAccepted()
    return isShown
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#stopWatching?.()
  }

  /** Logs the changes, and the tools withheld now. */
  #report(server: string, { pins, changed, withheld }: PinCheck): void {
    const { file, logger, nameOf } = this.#options
    const before = this.#withheld.get(server) ?? NONE.withheld
    this.#withheld.set(server, withheld)
    const served = changed.filter(({ tool }) => !withheld.has(tool))
    for (const { tool, change } of served.slice(0, MAX_REPORTED))
      logger().warn({ server, tool: shortened(tool), change }, CHANGED)
    const changedNow = new Set(changed.map(({ tool }) => tool))
    const isNews = (tool: string): boolean => withheld.has(tool) && (!before.has(tool) || changedNow.has(tool))
    const offered = offeredTools(new Map([[server, pins.get(server) ?? new Map()]])).filter(({ tool }) => isNews(tool))
    for (const { tool, change } of offered.slice(0, MAX_REPORTED)) {
      const accept = acceptCommand(file, [nameOf(server, tool)])
      logger().warn({ server, tool: shortened(tool), change, accept }, WITHHELD)
    }
    const more = Math.max(served.length, offered.length) - MAX_REPORTED
    if (more > 0) logger().warn({ server, more }, MORE)
  }

  /** Logs tools that are withheld because the pins of their server have reached the limit. */
  #reportUnpinned(server: string, { unpinned }: PinCheck): void {
    if (this.#unpinned.get(server) === (unpinned || undefined)) return
    this.#unpinned.delete(server)
    if (unpinned === 0) return
    this.#unpinned.set(server, unpinned)
    this.#options.logger().warn({ server, why: this.#fullText(server, unpinned) }, FULL)
  }

  #fullText(server: string, unpinned: number): string {
    const limit = `${MAX_PIN_CHARS / 1024 / 1024} MB of pins`
    return `The server "${server}" has listed more than ${limit} in the course of time, so that ${unpinned} of its tools are withheld. Look at what it lists; remove its entry from ${this.#options.pins.place} to pin that.`
  }

  #tryLater(): void {
    if (this.#isClosed || this.#retry !== undefined) return
    const retry = (): void => {
      this.#retry = undefined
      this.#options.onAccepted()
    }
    this.#retry = unref(setTimeout(retry, RETRY_MS))
  }
}
