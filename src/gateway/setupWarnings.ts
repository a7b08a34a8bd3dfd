/**
 * Warnings about the setup: gateways without shared keys or a database, views of tools that do not exist. Each is
 * logged once.
 */
import { unref } from '../protocol/index.ts'
import type { Logger } from '../server/internal.ts'
import type { Backend } from './backends/backend.ts'
import type { GatewayOptions, WorkerSiblings } from './options.ts'
import { type CatalogNames, unknownInView, type View } from './catalog/index.ts'

/** Whether keys are configured; otherwise the gateway makes its own. */
export function hasKeys({ keys, settings }: Pick<GatewayOptions, 'keys' | 'settings'>): boolean {
  return (keys ?? settings.keys ?? process.env['PANNIER_KEYS']) !== undefined
}

/** The warning about missing keys; undefined if there are keys, or no sign of other gateways. */
export function missingKeys(options: Pick<GatewayOptions, 'keys' | 'settings' | 'postgres'>): string | undefined {
  if (hasKeys(options)) return undefined
  const variables = ['PANNIER_PEERS', 'PANNIER_ADVERTISE'].filter((name) => process.env[name])
  const hasDatabase = (options.postgres ?? options.settings.postgres) !== undefined
  const [how] = [...variables, ...(hasDatabase ? ['PostgreSQL'] : [])]
  if (how === undefined) return undefined
  return `This gateway is to work with others (${how}), and has no keys: it made one of its own, so that the others can open neither its sessions and waiting calls nor its messages. Give all of them the same PANNIER_KEYS (pannier keys new).`
}

/** Gateways may meet long after the start. */
const LOOK_INTERVAL_MS = 5000

/** The other processes that serve the same servers. */
type Others = 'none' | 'workers' | 'gateways'

export interface SetupWarningsOptions {
  /** Resolves when it is known which servers are stateful. */
  readonly judged: () => Promise<void>
  /** The number of other gateways known; none with a database. */
  readonly others: () => number
  readonly backends: () => readonly Backend[]
  /** Problems of views, as sentences. */
  readonly views: () => readonly string[]
  /** The workers of this gateway, which log a sentence once for all; undefined if there are none. */
  readonly siblings: () => WorkerSiblings | undefined
  readonly logger: () => Logger
}

export class SetupWarnings {
  readonly #options: SetupWarningsOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #hasEnded = false
  #said: Others = 'none'
  readonly #saidOfViews = new Set<string>()

  constructor(options: SetupWarningsOptions) {
    this.#options = options
  }

  /** Logs each sentence that is true once the servers are judged, and looks again every few seconds. */
  watch(): void {
    void this.#options.judged().then(() => this.#look())
  }

  /** The current problems of views. */
  get ofViews(): readonly string[] {
    return this.#options.views()
  }

  close(): void {
    this.#hasEnded = true
    clearTimeout(this.#timer)
  }

  #look(): void {
    if (this.#hasEnded) return
    const others = this.#others
    if (others !== this.#said && this.#said !== 'gateways') this.#say(others)
    this.#sayViews()
    clearTimeout(this.#timer)
    this.#timer = unref(setTimeout(() => this.#look(), LOOK_INTERVAL_MS))
  }

  #say(others: Others): void {
    const keeping = this.#options
      .backends()
      .filter(({ connector, isShared }) => connector.about !== undefined && !isShared)
    if (others === 'none' || keeping.length === 0) return
    const names = keeping.map(({ name }) => `"${name}"`)
    this.#warn(others === 'workers' ? amongWorkers(names) : amongGateways(names))
    this.#said = others
  }

  #sayViews(): void {
    for (const sentence of this.ofViews) {
      if (!this.#saidOfViews.has(sentence)) this.#warn(sentence)
      this.#saidOfViews.add(sentence)
    }
  }

  #warn(sentence: string): void {
    const { siblings, logger } = this.#options
    const workers = siblings()
    if (workers === undefined) logger().warn({}, sentence)
    else workers.warn(sentence)
  }

  get #others(): Others {
    const { others, siblings } = this.#options
    const known = others()
    if (known === 0) return 'none'
    return known < (siblings()?.count ?? 1) ? 'workers' : 'gateways'
  }
}

function amongGateways(names: readonly string[]): string {
  const keeps = names.length === 1 ? 'which may keep' : 'which may each keep'
  return `Several gateways serve ${names.join(', ')}, ${keeps} something for each caller, and they have no PostgreSQL: what was kept is lost with the gateway that served the caller, and some callers begin anew when a gateway is added. Start all of them with --postgres URL.`
}

function amongWorkers(names: readonly string[]): string {
  const [servers, keep] = names.length === 1 ? ['this server', 'it keeps'] : ['these servers', 'they keep']
  return `Each caller of ${names.join(', ')} is served by one worker, since ${servers} may keep something for each caller. What ${keep} is lost when that worker ends; with --postgres URL, sessions over HTTP outlive it.`
}

interface UnknownToolsParts {
  readonly views: Readonly<Record<string, View>>
  readonly names: CatalogNames
  readonly backends: readonly Backend[]
}

/** A sentence for each view that renames or describes an unknown tool. */
export function unknownInViews({ views, names, backends }: UnknownToolsParts): readonly string[] {
  const toolsOf = (server: string): readonly string[] | undefined => knownTools(backends, server)
  return Object.entries(views).flatMap(([name, view]) => {
    const quoted = unknownInView(view, names, toolsOf).map((tool) => `"${tool}"`)
    if (quoted.length === 0) return []
    const sentence = `The view "${name}" renames or describes ${quoted.join(', ')}, and no server has such a tool now.`
    return [`${sentence} Look at the names in /mcp.`]
  })
}

/** The own names of a server's tools; undefined if they are unknown, or differ by caller. */
function knownTools(backends: readonly Backend[], server: string): readonly string[] | undefined {
  const backend = backends.find(({ name }) => name === server)
  if (backend === undefined || backend.connector.condition.kind !== 'up' || backend.listsDiffer) return undefined
  return [...backend.lists.latest.tools.map(({ name }) => String(name)), ...backend.lists.withheld]
}
