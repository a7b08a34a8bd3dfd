/**
 * What a server and whoever makes tasks of its calls need of each other. `pannier/tasks` makes them in a file or in
 * PostgreSQL; nothing here knows which.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Journal } from '../journal/index.ts'
import type { Era, Json } from '../protocol/index.ts'
import type { Principal } from './auth/authenticator.ts'
import type { Call, Peer } from './call.ts'
import type { Logger } from './logger.ts'
import type { WireError } from './wireErrors.ts'

/** Given to `createServer({ tasks })`. */
export interface Tasks {
  /** Called once, with the server that the tasks are of. */
  attach(host: TaskHost): TaskService
}

/** The server, as its tasks see it. */
export interface TaskHost {
  /** Servers of one audience share their tasks. */
  readonly audience: string
  readonly logger: () => Logger
  /** Whether callers are told from each other; only then may they list what is theirs. */
  readonly knowsCallers: boolean
  /** The text of a result, with what every result of the peer's era says. */
  write(result: Json, peer: Peer): string
  /** Runs a tool over its journal until it ends, asks, or hands over. Never rejects. */
  play(work: TaskWork): Promise<RunOutcome>
}

/** The desk where calls become tasks, and where clients ask for them. */
export interface TaskService {
  /** What the server declares, by era. */
  capabilities(era: Era): Json
  /** Makes a task of a call and gives the text of the result that says so, once the task is safe. */
  create(call: Call, work: NewWork): Promise<string>
  /** The method of this name, where this client's dialect has one. */
  method(call: Call): ((call: Call) => Promise<string>) | undefined
  /** Finds those of these tasks that the caller may listen to. */
  listen(call: Call, taskIds: readonly string[], send: (task: Json) => void): Promise<TaskListening>
  /** Opens the store and takes up what is ready; resolves when it did, rejects when the store cannot be used. */
  start(tools: readonly string[]): Promise<void>
  /** A tool that can run as a task came later. */
  serve(tool: string): void
  /** Takes nothing more, lets runs end or hand over until the deadline, and gives the rest back. */
  drain(deadlineMs: number): Promise<void>
  /** Lets the store go. */
  close(): Promise<void>
}

export interface TaskListening {
  readonly taskIds: readonly string[]
  /** Sends each task as it is now, and from here on each change. */
  readonly begin: () => void
  readonly stop: () => void
}

export interface NewWork {
  readonly tool: string
  readonly args: Json
  readonly journal: Journal
}

/** What a run must know of the one who called. Plain JSON: it lies with the task. */
export interface TaskCaller {
  readonly peer: Omit<Peer, 'logLevel' | 'session' | 'takesInputRequired'>
  readonly principal: Principal | undefined
  readonly meta: Json
}

export interface TaskWork extends NewWork {
  readonly id: string
  readonly caller: TaskCaller
  readonly signal: AbortSignal
  /** Keeps a step's result before anything can depend on it. */
  readonly commit: (key: string, result: { readonly value?: unknown }) => Promise<void>
  /** The single uses of this task. */
  readonly claim: (id: string) => Promise<'fresh' | 'running'>
  readonly unclaim: (id: string) => Promise<void>
  readonly progress: (progress: number, total: number | undefined, message: string | undefined) => void
  /** Whether the process is about to end, so that checkpoints hand over. */
  readonly draining: () => boolean
}

/** How a run of a task stopped. What it asked, and what it remembers, is in its journal. */
export type RunOutcome =
  | { readonly kind: 'completed'; readonly result: Json }
  | { readonly kind: 'failed'; readonly error: WireError }
  | { readonly kind: 'asked'; readonly requests: ReadonlyMap<string, InputRequest> }
  | { readonly kind: 'handed-over' }
