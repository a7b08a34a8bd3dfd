/** The remote procedure calls between the primary process of a gateway and its workers. */
import type { GatewayConfig } from '../config/index.ts'
import type { GatewayReport } from '../options.ts'

/** Where clients are served. */
export interface ServeAddress {
  readonly host: string
  readonly port: number
  readonly insecure: boolean
}

export interface WorkerStart {
  readonly config: GatewayConfig
  /** Which worker it is, from 1 on, of how many. */
  readonly worker: number
  readonly workers: number
  /** The name that all workers share, as gateways behind and before them see it. */
  readonly id: string
  /** The keys that the primary made for all; undefined where they are configured. */
  readonly keys: string | undefined
  /** Where the other workers reach it. Port 0 is any free one. */
  readonly own: { readonly host: string; readonly port: number; readonly advertise: string | undefined }
}

/** What a worker knows of the gateway, in the form of the admin pages. */
export interface WorkerReport extends GatewayReport {
  /** In the format of Prometheus; undefined where nothing is measured. */
  readonly metrics: string | undefined
}

export interface WorkerTableOptions {
  readonly width: number
  /** Maximum wait for servers that are still being probed. */
  readonly withinMs: number
}

/** What is served, as text. */
export interface WorkerTable {
  readonly text: string
  /** Whether nothing is still to be found out of the servers. */
  readonly isWhole: boolean
}

/** What a worker does for the primary. */
export interface WorkerMethods {
  /** Connects to the servers. Gives the address at which other workers reach it. */
  start(start: WorkerStart): Promise<string>
  /** Meets the other workers, and serves clients from then on. */
  serve(params: { readonly others: readonly string[]; readonly at: ServeAddress }): Promise<string>
  meet(params: { readonly others: readonly string[] }): Promise<void>
  reload(config: GatewayConfig): Promise<void>
  report(params: object): Promise<WorkerReport>
  /** Answers. */
  ping(params: object): void
  table(options: WorkerTableOptions): Promise<WorkerTable>
  /** Lets calls finish, and ends all servers. */
  drain(params: object): Promise<void>
}

/** What the primary does for workers: it counts and warns for all of them. */
export interface PrimaryMethods {
  /** Counts a request of a caller; gives how long to wait, in milliseconds, where that is one too many. */
  count(params: { readonly key: string; readonly limit: number }): Promise<number>
  /** Counts a call that begins; false where that is one too many. */
  begin(params: { readonly caller: string; readonly limit: number }): boolean
  end(params: { readonly caller: string }): void
  /** Logs a sentence, unless another worker has logged it. */
  warn(params: { readonly sentence: string }): void
  /** Notes the state of a topic; returns whether no other worker has logged it, so that this one does. */
  isNews(params: { readonly topic: string; readonly text: string | undefined }): boolean
}
