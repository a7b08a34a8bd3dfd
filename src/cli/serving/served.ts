/** A gateway that the program serves, in one process or in several. */
import { availableParallelism } from 'node:os'
import type { Gateway, GatewayConfig, GatewayOptions } from '../../gateway/index.ts'
import {
  type AdminListening,
  createGateway,
  prometheusMetrics,
  listenWorkersAdmin,
  overdrawn,
  runGatewayWorker,
  Workers,
  type WorkerTable,
  type WorkerTableOptions,
} from '../../gateway/internal.ts'
import { guardGroups } from '../../client/internal.ts'
import { unref } from '../../protocol/index.ts'
import { storedLoginFor } from '../connection.ts'
import { catalogueText, laterText, servedText } from '../output/served.ts'
import { WORKER_ENV } from './workerProcess.ts'

export interface ServeAddressOptions {
  readonly port: number
  readonly host: string
  readonly insecure: boolean
}

export interface AdminAddresses {
  readonly pages: readonly string[]
  /** With its token; undefined where it is not served. */
  readonly console: string | undefined
}

export interface ServedGateway {
  /** Serves clients over HTTP. Gives the address. */
  listen(at: ServeAddressOptions): Promise<string>
  /** Serves one client on standard input and output, in one process. */
  stdio?(): Promise<void>
  /** Serves health, servers, metrics and the console; undefined where the settings say so. */
  listenAdmin(): Promise<AdminAddresses | undefined>
  /** What is served; undefined where no process can report it. */
  table(options: WorkerTableOptions): Promise<WorkerTable | undefined>
  reload(config: GatewayConfig): Promise<void>
  drain(): Promise<void>
}

/** A gateway of this process, with the logins of its user. */
function gatewayOf(options: GatewayOptions): Gateway {
  guardGroups()
  return createGateway({ ...options, authorizer: ({ url }) => storedLoginFor(url) })
}

/** The servers, and a line for each address that lists tools of many. */
async function tableOf(gateway: Gateway, { width, withinMs, only }: WorkerTableOptions): Promise<WorkerTable> {
  const isOver = new Promise<boolean>((resolve) => unref(setTimeout(() => resolve(true), withinMs)))
  const asked = gateway.backends.filter(({ name }) => only === undefined || only.includes(name))
  const areLate = await Promise.all(asked.map((each) => Promise.race([each.judged().then(() => false), isOver])))
  const namesOf = (isLate: boolean) => asked.filter((_, at) => areLate[at] === isLate).map(({ name }) => name)
  const late = namesOf(true)
  if (only !== undefined && late.length === asked.length) return { text: '', late }
  const servers = only === undefined ? servedText(gateway, width) : laterText(gateway, namesOf(false), width)
  return { text: [servers, ...gateway.catalogues.map(catalogueText)].filter(Boolean).join('\n'), late }
}

/** The addresses of the admin pages; `/metrics` only where something is measured. */
function adminPages({ url, console }: AdminListening, hasMetrics: boolean): AdminAddresses {
  return { pages: ['health', 'servers', ...(hasMetrics ? ['metrics'] : [])].map((page) => `${url}${page}`), console }
}

/** Serves in this process. */
export function oneProcess(config: GatewayConfig): ServedGateway {
  const gateway = gatewayOf(config)
  return {
    listen: async (at) => (await gateway.listen({ ...at, drainOnTerm: false })).url,
    stdio: () => gateway.stdio(),
    listenAdmin: async () => {
      const metrics = await prometheusMetrics()
      const admin = await gateway.listenAdmin({ metrics })
      return admin && adminPages(admin, metrics !== undefined)
    },
    table: (options) => tableOf(gateway, options),
    reload: (changed) => gateway.reload(changed),
    drain: () => gateway.drain(),
  }
}

export interface ServingWorkersOptions {
  readonly workers: number
  readonly onNews: (sentence: string) => void
}

/** Serves in several processes, which this one starts. It serves no client itself. */
export function inWorkers(config: GatewayConfig, { workers: count, onNews }: ServingWorkersOptions): ServedGateway {
  const cores = availableParallelism()
  if (count > cores) onNews(`There are more workers (${count}) than processors (${cores}) here, which gains nothing.`)
  for (const server of overdrawn(config, count))
    onNews(
      `"${server}" may have less than one process, session or request for each worker. Each worker has one all the same.`,
    )
  const workers = new Workers({ workers: count, env: WORKER_ENV, config, onNews })
  let closeAdmin = async (): Promise<void> => {}
  return {
    listen: (at) => workers.start(at),
    listenAdmin: async () => {
      const { admin } = config.settings
      if (admin === false) return undefined
      const listening = await listenWorkersAdmin(admin, workers)
      closeAdmin = listening.close
      return adminPages(listening, listening.hasMetrics)
    },
    table: (options) => workers.table(options),
    reload: (changed) => workers.reload(changed),
    drain: async () => {
      await workers.drain()
      await closeAdmin() // until then it says that no new calls are taken
    },
  }
}

/** This process serves as a worker until it ends. */
export function serveAsWorker(): Promise<never> {
  return runGatewayWorker({ create: gatewayOf, tableOf })
}
