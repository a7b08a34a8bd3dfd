/** Aggregates the reports of several workers into that of one gateway, and serves it at the admin endpoint. */
import type { Json } from '../../protocol/index.ts'
import { type AdminListening, listenAdmin } from '../admin/listen.ts'
import type { AdminSettings } from '../config/index.ts'
import type { Workers, WorkerState } from './workers.ts'

export interface WorkersAdmin extends AdminListening {
  readonly hasMetrics: boolean
}

export async function listenWorkersAdmin(settings: AdminSettings, workers: Workers): Promise<WorkersAdmin> {
  const hasMetrics = (await workers.states()).some(({ report }) => report?.metrics !== undefined)
  const metrics = async (): Promise<string> => aggregateMetrics(await workers.states())
  const admin = await listenAdmin(settings, {
    health: async () => aggregateHealth(await workers.states()),
    servers: async () => aggregateServers(await workers.states()),
    ask: workers.askConsole,
    ...(hasMetrics && { metrics }),
  })
  return { ...admin, hasMetrics }
}

type ReportedWorker = WorkerState & { readonly report: NonNullable<WorkerState['report']> }

/** A server counts as up if all workers reach it, because any of them may get a call. */
export function aggregateHealth(states: readonly WorkerState[]): Json {
  const there = states.filter(isReported)
  const [first = NO_HEALTH] = there.map(({ report }) => report.health)
  return {
    ...first,
    live: true,
    ready: there.some(({ report }) => report.health['ready'] === true),
    up: aggregateServers(states).filter(({ condition }) => condition === 'up').length,
    warnings: [...sharedWarnings(there), ...states.flatMap(missing)],
    workers: states.map(({ worker, pid, report }) => ({ worker, pid, isServing: report !== undefined })),
  }
}

const NO_HEALTH: Json = { servers: 0, leftOut: 0 }

function isReported(state: WorkerState): state is ReportedWorker {
  return state.report !== undefined
}

/** A warning of all workers is listed once; a warning of some workers, with their numbers. */
function sharedWarnings(there: readonly ReportedWorker[]): readonly string[] {
  const said = new Map<string, number[]>()
  for (const { worker, report } of there)
    for (const warning of textsIn(report.health['warnings'])) said.set(warning, [...(said.get(warning) ?? []), worker])
  return Array.from(said, ([warning, workers]) =>
    workers.length === there.length ? warning : `Worker ${workers.join(' and ')}: ${warning}`,
  )
}

function missing({ worker, pid, hasStarted, report }: WorkerState): readonly string[] {
  if (report !== undefined) return []
  if (!hasStarted) return [`Worker ${worker} is not there, and is started again. The others serve.`]
  return [`Worker ${worker} does not answer. If that lasts, end its process (${pid}), and another one is started.`]
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

/** One entry for each server: the report of a worker that does not reach it, if any, and the links of all workers. */
export function aggregateServers(states: readonly WorkerState[]): readonly Json[] {
  const there = states.filter(isReported)
  const names = new Set(there.flatMap(({ report }) => report.servers.map(({ name }) => String(name))))
  return Array.from(names, (name) => {
    const seen = there.flatMap(({ worker, report }) => {
      const server = report.servers.find((each) => each['name'] === name)
      return server === undefined ? [] : [{ worker, server }]
    })
    const worst = seen.find(({ server }) => server['condition'] !== 'up') ?? seen[0]
    const workers = seen.map(({ worker, server: { condition, links } }) => ({
      worker,
      condition,
      ...(links !== undefined && { links }),
    }))
    const links = seen.reduce((sum, { server }) => sum + Number(server['links'] ?? 0), 0)
    return { ...worst?.server, ...(seen.some(({ server }) => 'links' in server) && { links }), workers }
  })
}

/** The metrics of each worker with its number, so that counters stay correct when a worker restarts. */
export function aggregateMetrics(states: readonly WorkerState[]): string {
  const families = new Map<string, MetricFamily>()
  for (const { worker, report } of states)
    if (report?.metrics !== undefined) addFamilies(families, report.metrics, worker)
  return Array.from(families.values(), ({ head, samples }) => [...head, ...samples].join('\n'))
    .join('\n')
    .concat('\n')
}

/** The head and the samples of one metric. */
interface MetricFamily {
  readonly head: Set<string>
  readonly samples: string[]
}

/** Samples follow the head of their family: `# HELP name …`, `# TYPE name …`. */
function addFamilies(families: Map<string, MetricFamily>, text: string, worker: number): void {
  let family: MetricFamily = { head: new Set(), samples: [] }
  for (const line of text.split('\n')) {
    const name = HEAD.exec(line)?.groups?.['name']
    if (name !== undefined) {
      family = families.get(name) ?? { head: new Set(), samples: [] }
      families.set(name, family)
      family.head.add(line)
    } else if (line !== '' && !line.startsWith('#')) family.samples.push(labelled(line, worker))
  }
}

const HEAD = /^# (?:HELP|TYPE|UNIT) (?<name>\S+)/

/** Adds a label to `name{a="b"} 1` or `name 1`. */
function labelled(sample: string, worker: number): string {
  const name = /^[\w:]+/.exec(sample)?.[0] ?? ''
  const rest = sample.slice(name.length)
  const label = `worker="${worker}"`
  return rest.startsWith('{') && !rest.startsWith('{}')
    ? `${name}{${label},${rest.slice(1)}`
    : `${name}{${label}}${rest.replace(/^\{\}/, '')}`
}
