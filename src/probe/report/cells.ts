/**
 * The features of a server behind a gateway, for clients of each era. A cell is a pair: the era of the client and the
 * era of the server. Whatever a call can do works in each of the four, but for the limits that are listed here.
 */
import { type Era, isObject, type Json, offersTasks } from '../../protocol/index.ts'

/** The facts that decide about the cells of a server. */
export interface CellFacts {
  readonly era: Era
  readonly transport: 'http' | 'sse' | 'stdio'
  /** Whether callers share its processes or connections. Else each of them has a process or a session there. */
  readonly isShared: boolean
  /** Whether each caller sees the server's list for that caller. */
  readonly listsDiffer?: boolean
  /** Whether the gateway refuses servers that keep something, and so this one. */
  readonly isRefused?: boolean
  /** Which of these abilities the server declares. */
  readonly has: ReadonlySet<'logs' | 'tasks' | 'task lists'>
  /** Whether the gateway knows who calls. */
  readonly knowsCallers: boolean
  /**
   * How many gateways serve it behind one address. `leased`: several, which look up in PostgreSQL which of them serves
   * a caller.
   */
  readonly gateways: 'one' | 'several' | 'leased'
}

/** The abilities that a server declares by its capabilities. */
export function declaredAbilities(era: Era, capabilities: Json): CellFacts['has'] {
  const { logging, tasks } = capabilities
  const has = {
    logs: isObject(logging),
    tasks: offersTasks(era, capabilities),
    'task lists': era === 'legacy' && isObject(tasks) && isObject(tasks['list']),
  }
  return new Set((['logs', 'tasks', 'task lists'] as const).filter((ability) => has[ability]))
}

/** The subject of a limit. */
export type CellKind = 'calls' | 'lists' | 'logs' | 'memory' | 'tasks'

/** One thing that does not work, or not as usual. */
export interface CellLimit {
  readonly kind: CellKind
  /** The limit and its reason, as a part of a sentence. */
  readonly because: string
}

/** The features for clients of one era. */
export interface Cell {
  readonly client: Era
  readonly server: Era
  readonly works: 'everything' | 'limited' | 'nothing'
  readonly limits: readonly CellLimit[]
  /** The whole cell as a sentence. */
  readonly sentence: string
}

/** One for clients of the stateless era, and one for clients of the session era. */
export function cellsOf(facts: CellFacts): readonly [Cell, Cell] {
  return [cellOf('modern', facts), cellOf('legacy', facts)]
}

function cellOf(client: Era, facts: CellFacts): Cell {
  const limits = facts.isRefused ? [REFUSED] : LIMITS.flatMap((limitsOf) => limitsOf(facts, client))
  const works = facts.isRefused ? 'nothing' : limits.length === 0 ? 'everything' : 'limited'
  const said = limits.map(({ because }) => because).join('; ')
  const what = { everything: 'everything.', limited: `everything, but ${said}.`, nothing: `nothing: ${said}.` }[works]
  return { client, server: facts.era, works, limits, sentence: `Clients of the ${ERA_WORDS[client]} era: ${what}` }
}

const ERA_WORDS = { modern: 'stateless', legacy: 'session' } as const

const REFUSED: CellLimit = {
  kind: 'calls',
  because: 'it keeps something between calls, and the gateway refuses such servers ("stateful": "reject")',
}

type LimitsOf = (facts: CellFacts, client: Era) => readonly CellLimit[]

const LIMITS: readonly LimitsOf[] = [brokenSessions, logs, lists, memory, tasks]

function brokenSessions({ transport }: CellFacts): readonly CellLimit[] {
  if (transport !== 'sse') return []
  const because = 'a session ends with its connection, because HTTP+SSE cannot resume one, and so do its calls'
  return [{ kind: 'calls', because }]
}

/** Over HTTP the stateless era writes the messages of a call to the stream of that call. */
function logs({ has, isShared, era, transport }: CellFacts): readonly CellLimit[] {
  if (!has.has('logs') || !isShared || (era === 'modern' && transport !== 'stdio')) return []
  const what = transport === 'stdio' ? 'process' : 'connection'
  const whom = era === 'modern' ? 'no client' : 'only clients that can be asked'
  const whose = era === 'modern' ? 'callers' : 'the others'
  const because = `log messages reach ${whom}, because ${whose} share a ${what} and a message does not name its call`
  return [{ kind: 'logs', because }]
}

function lists(facts: CellFacts): readonly CellLimit[] {
  const own = ownPlace(facts)
  if (own === undefined) return []
  const what = facts.listsDiffer ? 'updates' : 'lists and updates'
  const because = `${what} of resources are those of the gateway's own ${own}, so that what changes in a caller's alone is not seen`
  return [{ kind: 'lists', because }]
}

function memory(facts: CellFacts, client: Era): readonly CellLimit[] {
  const own = ownPlace(facts)
  if (own === undefined) return []
  const { era, transport, knowsCallers, gateways } = facts
  const isNameless = client === 'modern' && !knowsCallers
  // The id of a session over HTTP is all that another gateway needs.
  const isLost = gateways === 'several' || (gateways === 'leased' && transport !== 'http')
  const reasons = [
    ...(client === 'modern' && era === 'legacy'
      ? [
          `while a call that may ask is under way, others of its caller have another ${own} without what is kept in the first`,
        ]
      : []),
    ...(isNameless ? ['callers without a name share what it keeps, because nothing tells them apart'] : []),
    ...(isLost ? [`what it keeps for a caller is in one gateway, and lost when that ends`] : []),
  ]
  return reasons.map((because) => ({ kind: 'memory', because }))
}

function tasks({ has, era, transport, isShared, gateways }: CellFacts, client: Era): readonly CellLimit[] {
  if (!has.has('tasks')) return []
  const isHeld = era === 'legacy' || transport === 'stdio'
  const reasons = [
    ...(client === 'modern' && era === 'legacy'
      ? ['tools that need not run as tasks never do, because clients of this era do not ask for it']
      : []),
    ...(client === 'legacy' ? unlisted(era, isShared, has.has('task lists')) : []),
    ...(gateways !== 'one' && (isHeld || client === 'legacy')
      ? [`a task ${isHeld ? '' : 'that ended at once '}lives in the gateway where it began, and is lost with it`]
      : []),
  ]
  return reasons.map((because) => ({ kind: 'tasks', because }))
}

/** Missing task lists are a limit only if the server itself has them. */
function unlisted(era: Era, isShared: boolean, listsTasks: boolean): readonly string[] {
  if (era === 'modern') return ['there is no tasks/list, because servers of the stateless era have none']
  return isShared && listsTasks ? ['there is no tasks/list, because the owner of a task is unknown'] : []
}

/** The unit of each caller: a process, a session, or over HTTP in the stateless era only the request. */
function ownPlace({ era, transport, isShared }: CellFacts): 'process' | 'session' | undefined {
  if (isShared) return undefined
  if (transport === 'stdio') return 'process'
  return era === 'legacy' ? 'session' : undefined
}

/** `both eras`, or the kinds of what is limited: `limits in lists, tasks (sessions)`. */
export function cellsText([stateless, session]: readonly [Cell, Cell]): string {
  if (stateless.works === 'nothing') return 'none'
  const [own, others] = [kindsOf(stateless), kindsOf(session)]
  const kinds = [...new Set([...own, ...others])].map((kind) => {
    if (own.has(kind) && others.has(kind)) return kind
    return `${kind} (${own.has(kind) ? 'stateless' : 'sessions'})`
  })
  return kinds.length === 0 ? 'both eras' : `limits in ${kinds.join(', ')}`
}

function kindsOf({ limits }: Cell): ReadonlySet<CellKind> {
  return new Set(limits.map(({ kind }) => kind))
}
