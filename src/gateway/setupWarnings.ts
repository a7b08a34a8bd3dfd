/**
 * Warnings about the setup: gateways without shared keys or a database, names and patterns of tools that do not exist.
 * Each is logged once.
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

/** Interval of the checks: gateways may meet long after the start. */
const LOOK_INTERVAL_MS = 5000

/** The other processes that serve the same servers. */
type Others = 'none' | 'workers' | 'gateways'

export interface SetupWarningsOptions {
  /** Resolves when it is known which servers are stateful. */
  readonly judged: () => Promise<void>
  /** The number of other gateways known; none with a database. */
  readonly others: () => number
  readonly backends: () => readonly Backend[]
  /** Names and patterns in the configuration that fit no tool, as sentences. */
  readonly unfitting: () => readonly string[]
  /** The workers of this gateway, which log a sentence once for all of them; undefined without workers. */
  readonly siblings: () => WorkerSiblings | undefined
  readonly logger: () => Logger
}

export class SetupWarnings {
  readonly #options: SetupWarningsOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #hasEnded = false
  #said: Others = 'none'
  readonly #saidUnfitting = new Set<string>()

  constructor(options: SetupWarningsOptions) {
    this.#options = options
  }

  /** Logs each warning that holds once the servers are judged, and checks again every few seconds. */
  watch(): void {
    void this.#options.judged().then(() => this.#look())
  }

  /** The names and patterns that fit no tool now. */
  get unfitting(): readonly string[] {
    return this.#options.unfitting()
  }

  close(): void {
    this.#hasEnded = true
    clearTimeout(this.#timer)
  }

  #look(): void {
    if (this.#hasEnded) return
    const others = this.#others
    if (others !== this.#said && this.#said !== 'gateways') this.#say(others)
    this.#sayUnfitting()
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

  #sayUnfitting(): void {
    for (const sentence of this.unfitting) {
      if (!this.#saidUnfitting.has(sentence)) this.#warn(sentence)
      this.#saidUnfitting.add(sentence)
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
  return `Several gateways serve ${names.join(', ')}, ${keeps} something for each caller, and they have no PostgreSQL: what was kept is lost with the gateway that served the caller, and some callers start over when a gateway is added. Start all of them with --postgres URL.`
}

function amongWorkers(names: readonly string[]): string {
  const [servers, keep] = names.length === 1 ? ['this server', 'it keeps'] : ['these servers', 'they keep']
  return `Each caller of ${names.join(', ')} is served by one worker, since ${servers} may keep something for each caller. What ${keep} is lost when that worker ends; with --postgres URL, sessions over HTTP outlive it.`
}

interface UnfittingParts {
  readonly views: Readonly<Record<string, View>>
  readonly names: CatalogNames
  readonly backends: readonly Backend[]
}

/** A sentence for each view that renames or describes an unknown tool, and each pattern that no tool of its server fits. */
export function unfittingNames(parts: UnfittingParts): readonly string[] {
  return [...unknownInViews(parts), ...parts.backends.flatMap(unmatchedPatterns)]
}

function unmatchedPatterns(backend: Backend): readonly string[] {
  if (!isListKnown(backend)) return []
  const { name, lists } = backend
  return Object.entries(lists.unmatched).flatMap(([member, patterns]: [string, readonly string[]]) =>
    patterns.map(
      (pattern) =>
        `The "tools" of the server "${name}" have "${member}": "${pattern}", which fits none of its tools now. Look at their names in /mcp/${encodeURIComponent(name)}.`,
    ),
  )
}

function unknownInViews({ views, names, backends }: UnfittingParts): readonly string[] {
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
  if (backend === undefined || !isListKnown(backend)) return undefined
  return [...backend.lists.latest.tools.map(({ name }) => String(name)), ...backend.lists.withheld]
}

/** Whether the server is up and lists the same to all callers. */
function isListKnown({ connector, listsDiffer }: Backend): boolean {
  return connector.condition.kind === 'up' && !listsDiffer
}

export const NOT_OPENED =
  'The bus could not be opened: list changes reach no client, and other instances are not heard.'
