/**
 * The contract between a server and the service that runs its calls as tasks. `pannier/tasks` implements it on SQLite,
 * `pannier/postgres` on PostgreSQL.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Approvers, Journal } from '../journal/index.ts'
import type { Era, Json } from '../protocol/index.ts'
import type { Principal } from './auth/authenticator.ts'
import type { Call, Caller, Peer } from './call.ts'
import type { Logger } from './logger.ts'
import type { WireError } from './wireErrors.ts'

/** Given to `createServer({ tasks })`. */
export interface Tasks {
  /** Called once, with the server whose calls become tasks. */
  attach(host: TaskHost): TaskService
}

/** The server, as its tasks see it. */
export interface TaskHost {
  /** Servers of one audience share their tasks. */
  readonly audience: string
  readonly logger: () => Logger
  /** Whether callers are authenticated. Only then may they list their tasks. */
  readonly knowsCallers: boolean
  /** The text of a result, with the fields that every result of the peer's era has. */
  write(result: Json, peer: Peer): string
  /** Throws when this caller may not call the tool. */
  assertMayCall(call: Call, tool: string): void
  /** Whether a principal is an approver of a question. `isCaller`: whether that principal created the task. */
  mayAnswer(approvers: Approvers, answerer: Caller, isCaller: boolean): boolean
  /** For whom a task of this call is counted; undefined where callers cannot be told apart. */
  holderOf(call: Call): string | undefined
  /** Runs a tool over its journal until it ends, asks, or hands over. Never rejects. */
  run(work: TaskWork): Promise<RunOutcome>
}

/** Makes tasks of calls, and answers the clients' requests about them. */
export interface TaskService {
  /** The capabilities that the server declares, by era. */
  capabilities(era: Era): Json
  /** Why tasks are not run now, in a sentence; undefined while their store works. */
  trouble?(): string | undefined
  /** Makes a task of a call. Resolves when the task is stored, with the text of the result that names it. */
  create(call: Call, work: NewWork): Promise<string>
  /** The code of the call's method, if the client's dialect has that method. */
  method(call: Call): ((call: Call) => Promise<string>) | undefined
  /** Subscribes to those of these tasks that the caller may see. */
  listen(call: Call, taskIds: readonly string[], send: (task: Json) => void): Promise<TaskListening>
  /** Opens the store and starts the workers. Rejects when the store cannot be used. */
  start(tools: readonly string[]): Promise<void>
  /** Registers a tool that was added after the start. */
  serve(tool: string): void
  /** Claims no more tasks, lets runs end or hand over until the deadline, and returns the rest to the queue. */
  drain(deadlineMs: number): Promise<void>
  /** Closes the store. */
  close(): Promise<void>
}

/** A client that hears of tasks. */
export interface TaskListening {
  readonly taskIds: readonly string[]
  /** Sends the present status of each task, and from now on each change. */
  readonly begin: () => void
  readonly stop: () => void
}

/** The call that becomes a task. */
export interface NewWork {
  readonly tool: string
  readonly args: Json
  readonly journal: Journal
}

/** What a run needs to know of its caller. Plain JSON, stored with the task. */
export interface TaskCaller {
  readonly peer: Omit<Peer, 'logLevel' | 'session' | 'takesInputRequired'>
  readonly principal: Principal | undefined
  readonly meta: Json
}

/** One run of a task. */
export interface TaskWork extends NewWork {
  readonly id: string
  readonly caller: TaskCaller
  readonly signal: AbortSignal
  /** Whether the run is over: its signal is aborted, or would be if its process had not been frozen. */
  readonly isOver: () => boolean
  /** Stores the result of a step before the handler continues. */
  readonly commit: (key: string, result: { readonly value?: unknown }) => Promise<void>
  /** Claims a single use (`once`) of this task. */
  readonly claim: (id: string) => Promise<'fresh' | 'running'>
  readonly unclaim: (id: string) => Promise<void>
  readonly progress: (progress: number, total: number | undefined, message: string | undefined) => void
  /** Whether the process is draining, so that checkpoints hand over. */
  readonly draining: () => boolean
}

/** How a run of a task stopped. Its answers and steps are in its journal. */
export type RunOutcome =
  | { readonly kind: 'completed'; readonly result: Json }
  | { readonly kind: 'failed'; readonly error: WireError }
  | { readonly kind: 'asked'; readonly requests: ReadonlyMap<string, InputRequest> }
  | { readonly kind: 'handed-over' }
