/**
 * Remote procedure calls between the primary process of a gateway and a worker, over Node's IPC channel, in both
 * directions. The channel is a pipe between the two processes, so it may carry configurations and keys.
 */
import { isObject } from '../../protocol/index.ts'
import type { ConsoleReply, ConsoleRequest } from '../admin/console/types.ts'
import type { GatewayConfig } from '../config/index.ts'
import type { GatewayReport } from '../options.ts'

/** One end: the worker object of the primary, or the process of the worker itself. */
export interface IpcEnd {
  send(message: object, sent: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect', listener: () => void): unknown
}

/** The methods of one end, by name. */
export type IpcMethods<T> = { [Name in keyof T]: (params: never) => unknown }

interface IpcRequest {
  readonly ask: string
  readonly id: number
  readonly params: unknown
}

interface IpcAnswer {
  readonly answer: number
  readonly value?: unknown
  readonly fault?: IpcFault
}

/** The part of an error that the other end needs. */
interface IpcFault {
  readonly message: string
  readonly isType: boolean
  readonly code?: string
}

interface UnansweredRequest {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** The other process has ended, or was never started. */
export class ProcessGoneError extends Error {
  constructor() {
    super('The other process has ended.')
  }
}

export class IpcChannel<Local extends IpcMethods<Local>, Remote extends IpcMethods<Remote>> {
  readonly #end: IpcEnd
  readonly #local: Local
  readonly #waiting = new Map<number, UnansweredRequest>()
  #isClosed = false
  #last = 0

  /** `local`: the methods of this end. */
  constructor(end: IpcEnd, local: Local) {
    this.#end = end
    this.#local = local
    end.on('message', (message) => this.#receive(message))
    end.once('disconnect', () => this.close())
  }

  /** Calls a method of the other end. Rejects if it fails there, or the other process is gone. */
  ask<Name extends keyof Remote & string>(
    name: Name,
    params: Parameters<Remote[Name]>[0],
  ): Promise<Awaited<ReturnType<Remote[Name]>>> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (this.#isClosed) return Promise.reject(new ProcessGoneError())
    const id = ++this.#last
    this.#waiting.set(id, { resolve, reject })
    this.#send({ ask: name, id, params } satisfies IpcRequest)
    return promise as Promise<Awaited<ReturnType<Remote[Name]>>>
  }

  /** Rejects all open requests, because the other process is gone. */
  close(): void {
    this.#isClosed = true
    for (const { reject } of this.#waiting.values()) reject(new ProcessGoneError())
    this.#waiting.clear()
  }

  /** Ignores messages of other users of the channel. */
  #receive(message: unknown): void {
    if (!isObject(message)) return
    if (typeof message['ask'] === 'string') void this.#answer(message as unknown as IpcRequest)
    else if (typeof message['answer'] === 'number') this.#answered(message as unknown as IpcAnswer)
  }

  async #answer({ ask, id, params }: IpcRequest): Promise<void> {
    const answering = Object.hasOwn(this.#local, ask) ? this.#local[ask as keyof Local] : undefined
    try {
      const value: unknown = await answering?.(params as never)
      this.#send({ answer: id, value } satisfies IpcAnswer)
    } catch (error) {
      this.#send({ answer: id, fault: faultOf(error) } satisfies IpcAnswer)
    }
  }

  #answered({ answer, value, fault }: IpcAnswer): void {
    const waiting = this.#waiting.get(answer)
    this.#waiting.delete(answer)
    if (fault === undefined) waiting?.resolve(value)
    else waiting?.reject(errorOf(fault))
  }

  /** Sends without waiting: a failure shows as the end of the channel. */
  #send(message: object): void {
    if (!this.#isClosed) this.#end.send(message, () => {})
  }
}

function faultOf(error: unknown): IpcFault {
  const message = error instanceof Error ? error.message : String(error)
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return { message, isType: error instanceof TypeError, ...(typeof code === 'string' && { code }) }
}

function errorOf({ message, isType, code }: IpcFault): Error {
  const error = isType ? new TypeError(message) : new Error(message)
  return code === undefined ? error : Object.assign(error, { code })
}

/** The address of clients. */
export interface ServeAddress {
  readonly host: string
  readonly port: number
  readonly insecure: boolean
}

export interface WorkerStart {
  readonly config: GatewayConfig
  /** The number of the worker, from 1. */
  readonly worker: number
  readonly workers: number
  /** The gateway's name in `Via`, which all workers share. */
  readonly id: string
  /** The keys that the primary made for all; undefined if they are configured. */
  readonly keys: string | undefined
  /** The address at which other workers reach it. Port 0 is any free one. */
  readonly own: { readonly host: string; readonly port: number; readonly advertise: string | undefined }
}

/** A worker's report for the admin pages. */
export interface WorkerReport extends GatewayReport {
  /** In the format of Prometheus; undefined without metrics. */
  readonly metrics: string | undefined
}

export interface WorkerTableOptions {
  readonly width: number
  /** Maximum wait for servers that are still being probed. */
  readonly withinMs: number
  /** The servers to show, such as those that were late before. @default all */
  readonly only?: readonly string[]
}

/** The table of served servers. */
export interface WorkerTable {
  readonly text: string
  /** The servers that have not been judged yet. */
  readonly late: readonly string[]
}

/** The methods of a worker. */
export interface WorkerMethods {
  /** Connects to the servers. Returns the address at which other workers reach it. */
  start(start: WorkerStart): Promise<string>
  /** Meets the other workers, then serves clients. */
  serve(params: { readonly others: readonly string[]; readonly at: ServeAddress }): Promise<string>
  meet(params: { readonly others: readonly string[] }): Promise<void>
  reload(config: GatewayConfig): Promise<void>
  report(params: object): Promise<WorkerReport>
  /** Answers the console for all processes. */
  console(request: ConsoleRequest): Promise<ConsoleReply>
  /** Shows that the process is not frozen. */
  ping(params: object): void
  table(options: WorkerTableOptions): Promise<WorkerTable>
  /** Lets calls finish, and ends all servers. */
  drain(params: object): Promise<void>
}

/** The methods of the primary: it counts and warns for all workers. */
export interface PrimaryMethods {
  /** Counts a request of a caller; returns the time to wait in milliseconds, if it is over the limit. */
  count(params: { readonly key: string; readonly limit: number }): Promise<number>
  /** Counts a call that begins; returns false if it is over the limit. */
  begin(params: { readonly caller: string; readonly limit: number }): boolean
  end(params: { readonly caller: string }): void
  /** Logs a sentence, unless another worker has logged it. */
  warn(params: { readonly sentence: string }): void
}
