/**
 * What tools say of themselves, compared with what they said before. Where a server's policy is `warn`, a change since the
 * gateway was started is logged. Where it is `pin`, it is compared with the pins in a file, also after a restart, and the
 * tool is withheld until the change is accepted there.
 */
import { unwatchFile, watchFile } from 'node:fs'
import { type Json, unref } from '../protocol/index.ts'
import {
  checkDefinitions,
  offeredTools,
  passes,
  type PinCheck,
  type PinFile,
  pinFile,
  pinPath,
  type Pins,
} from './catalog/index.ts'
import { announce, type ServerLog } from './announce.ts'
import { acceptCommand, type BackendConfig } from './config/index.ts'

export interface DefinitionsOptions extends ServerLog {
  /** The mcp.json file, beside which the pins are. Without one they last as long as the gateway. */
  readonly file: string | undefined
  /** The name of a tool at `/mcp`. */
  readonly nameOf: (server: string, tool: string) => string
  /** Definitions may have been accepted. */
  readonly onAccepted: () => void
}

type PinStore = Pick<PinFile, 'update'>

const NONE: PinCheck = { pins: new Map(), changed: [], withheld: new Set() }
const WATCH_MS = 1000
/** Pins that cannot be used are tried again: another process may have had their lock. */
const RETRY_MS = 5000
const CHANGED = 'A server has changed the definition of a tool.'
const WITHHELD = 'A server has changed the definition of a tool, which is withheld until that is accepted.'
const UNUSABLE = 'The pins of tools cannot be used, so all tools of a server are withheld.'

export class Definitions {
  readonly #options: DefinitionsOptions
  readonly #path: string | undefined
  readonly #pinned: PinStore
  readonly #seen: PinStore = memoryPins()
  readonly #withheld = new Map<string, ReadonlySet<string>>()
  readonly #unusable = new Map<string, string>()
  #isWatching = false
  #isClosed = false
  #retry: ReturnType<typeof setTimeout> | undefined

  constructor(options: DefinitionsOptions) {
    this.#options = options
    this.#path = options.file === undefined ? undefined : pinPath(options.file)
    this.#pinned = this.#path === undefined ? memoryPins() : pinFile(this.#path)
  }

  /** Compares the tools of a server, and gives the names of those that are withheld. */
  async withheldOf({ name, settings }: BackendConfig, tools: readonly Json[]): Promise<ReadonlySet<string>> {
    const served = tools.filter((tool) => passes(String(tool['name']), settings.tools))
    const policy = settings.definitions
    try {
      if (policy === 'pin') this.#watch()
      const store = policy === 'pin' ? this.#pinned : this.#seen
      let check = NONE
      await store.update((pins) => {
        check = checkDefinitions(pins, name, { tools: served, policy })
        return check.pins
      })
      if (served.length > 0) this.#unusable.delete(name) // no tools need no pins
      this.#report(name, check)
      return check.withheld
    } catch (error) {
      const why = error instanceof Error ? error.message : ''
      if (this.#unusable.get(name) !== why) this.#options.logger().error({ server: name, why }, UNUSABLE)
      this.#unusable.set(name, why)
      this.#tryLater()
      return new Set(served.map((tool) => String(tool['name'])))
    }
  }

  /** Why the pins of a server cannot be used, so that all its tools are withheld; undefined where they can. */
  faultOf(server: string): string | undefined {
    return this.#unusable.get(server)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    if (this.#path !== undefined) unwatchFile(this.#path, this.#options.onAccepted)
  }

  /** Tells what changed, and what is withheld as of now. */
  #report(server: string, { pins, changed, withheld }: PinCheck): void {
    const { file, logger, nameOf } = this.#options
    const before = this.#withheld.get(server) ?? NONE.withheld
    this.#withheld.set(server, withheld)
    for (const { tool, change } of changed) if (!withheld.has(tool)) logger().warn({ server, tool, change }, CHANGED)
    const isNews = (tool: string): boolean => !before.has(tool) || changed.some((each) => each.tool === tool)
    for (const offered of offeredTools(pins)) {
      const { tool, change } = offered
      if (offered.server !== server || !withheld.has(tool) || !isNews(tool)) continue
      const accept = acceptCommand(file, [nameOf(server, tool)])
      announce(this.#options, topicOf(server, tool), change, () =>
        logger().warn({ server, tool, change, accept }, WITHHELD),
      )
    }
    for (const tool of before)
      if (!withheld.has(tool)) announce(this.#options, topicOf(server, tool), undefined, () => {})
  }

  #tryLater(): void {
    if (this.#isClosed || this.#retry !== undefined) return
    const retry = (): void => {
      this.#retry = undefined
      this.#options.onAccepted()
    }
    this.#retry = unref(setTimeout(retry, RETRY_MS))
  }

  /** Reads the time of the file again and again, which works for a file that is replaced, or not there yet. */
  #watch(): void {
    if (this.#isWatching || this.#path === undefined) return
    this.#isWatching = true
    watchFile(this.#path, { interval: WATCH_MS, persistent: false }, this.#options.onAccepted)
  }
}

function memoryPins(): PinStore {
  let known: Pins = new Map()
  return {
    update: async (change) => {
      known = change(known)
      return known
    },
  }
}

function topicOf(server: string, tool: string): string {
  return `${server} withholds ${tool}`
}
