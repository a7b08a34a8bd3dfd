/**
 * Where tasks live, and who runs them.
 *
 * Invariants, for every engine:
 * - what a promise of an engine was resolved for survives a crash of any process, its own included;
 * - a task that is ready to run is leased to one worker at a time. Every write of a lease names the lease, and a worker
 *   that has lost its lease, whatever it believes, writes nothing more (`LEASE_LOST`);
 * - a worker that dies or freezes loses its leases within `leaseMs`, without anybody's help, whatever its clock says; so
 *   does a run that returns and has not ended its lease, but not at once;
 * - a task that loses more than `maxLosses` workers in a row, and none of them got any further (a new step, a question),
 *   is given up: it fails;
 * - a task ends once: of several ends exactly one takes, and nothing changes a task afterwards;
 * - a task of another owner is as unknown as one that never was, and takes the same work to find out;
 * - a write of a lease whose answer was lost may be made again: a step that is there already is no fault, and a claim
 *   made by this same lease is 'fresh' again.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Journal } from '../journal/index.ts'
import type { Json, TaskStatus } from '../protocol/index.ts'
import type { Logger } from '../server/index.ts'
import { TaskError } from './errors.ts'

/** A JSON-RPC error as it goes over the wire. */
export interface TaskFailure {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** What the owner of a task may see of it. */
export interface TaskRecord {
  readonly id: string
  readonly tool: string
  readonly status: TaskStatus
  readonly statusMessage: string | undefined
  /** Milliseconds since 1970, by the engine's one clock. */
  readonly createdAt: number
  readonly updatedAt: number
  /** From creation; null lives until it ends, and then for `keepMs`. */
  readonly ttlMs: number | null
  /** The questions nobody has answered, by the key they go over the wire with. Empty unless input is required. */
  readonly questions: ReadonlyMap<string, InputRequest>
  /** Of a completed task. */
  readonly result: Json | undefined
  /** Of a failed task. */
  readonly failure: TaskFailure | undefined
}

export interface NewTask {
  readonly id: string
  /** Whose it is: empty where nobody is told from anybody. */
  readonly owner: string
  readonly tool: string
  readonly args: Json
  /** What a run must know of the caller, as JSON. The engine does not look inside. */
  readonly caller: Json
  /** What was gathered before it became a task. Its id names the call: a call that is sent twice makes one task. */
  readonly journal: Journal
  readonly ttlMs: number | null
}

/** A question on its way to the owner. */
export interface NewQuestion {
  /** The handler's key. On the wire it gets another one when this one was used before. */
  readonly key: string
  readonly request: InputRequest
  /** Fingerprint of the question; undefined when it is not pinned. */
  readonly question: string | undefined
  /** How often it has been asked, this time included. */
  readonly times: number
}

/** What a client answered, by the keys on the wire. Keys that are not open (any more) are ignored. */
export interface Answers {
  readonly accepted: ReadonlyMap<string, Json>
  /** Cannot be answers to what was asked: asked again at once, under new keys; after a few times by the run itself. */
  readonly refused: ReadonlySet<string>
}

export type TaskEnd =
  | { readonly status: 'completed'; readonly result: Json; readonly statusMessage?: string | undefined }
  | { readonly status: 'failed'; readonly failure: TaskFailure; readonly statusMessage?: string | undefined }

/** The right to run one task, for a while. Everything here rejects with `LEASE_LOST` once that is over. */
export interface Lease {
  readonly id: string
  readonly tool: string
  readonly args: Json
  readonly caller: Json
  /** As committed so far. The answers of the questions asked last are in it. */
  readonly journal: Journal
  /** Aborted when the lease is lost: to another worker, because the task was cancelled or has expired. */
  readonly signal: AbortSignal
  /** Commits the result of a step; an empty object stands for undefined. */
  step(key: string, result: { readonly value?: unknown }): Promise<void>
  /** Claims a single use: 'fresh' for the first, 'running' when an earlier run claimed it and never told its end. */
  claim(key: string): Promise<'fresh' | 'running'>
  /** Gives a claim back because its work was not done. */
  unclaim(key: string): Promise<void>
  /** What the owner sees as `statusMessage`. */
  note(statusMessage: string): Promise<void>
  /**
   * Ends the lease: the task waits for answers to these; with none it is ready again at once. `own` is what a handler in
   * explicit style remembers.
   */
  ask(questions: readonly NewQuestion[], own: unknown): Promise<void>
  /** Ends the lease and the task. */
  end(end: TaskEnd): Promise<void>
  /** Ends the lease: the task is ready for any worker. */
  giveBack(): Promise<void>
}

export interface WorkOptions {
  /** Tools this process can run; only their tasks are leased. */
  readonly tools: readonly string[]
  /** Runs at a time. */
  readonly concurrency: number
  /** Runs a task until its lease has ended. Never rejects. One that returns before has lost its task, as if it had died. */
  readonly run: (lease: Lease) => Promise<void>
}

export interface Working {
  /** A tool that came later. */
  serve(tool: string): void
  /** Takes nothing more; resolves when no run is under way. The runs themselves are told by others. */
  stop(): Promise<void>
}

export interface EngineHost {
  /** Servers with the same audience share tasks; others that use the same store never meet. */
  readonly audience: string
  readonly logger: () => Logger
}

/** A page that has results of this many bytes has enough, whatever was asked for. */
export const PAGE_BYTES = 8_388_608

export interface Page {
  readonly tasks: readonly TaskRecord[]
  /** The id to go on after; undefined at the end. */
  readonly next: string | undefined
}

export interface TaskEngine {
  /** Connects, and brings the schema up to date. Called once, before anything else. */
  open(host: EngineHost): Promise<void>
  /** Gives the task that this call has made before, if it has. */
  create(task: NewTask): Promise<TaskRecord>
  read(id: string, owner: string): Promise<TaskRecord | undefined>
  /** Newest first; at most so many, and fewer where their results are large. */
  list(owner: string, after: string | undefined, limit: number): Promise<Page>
  /** Gives the task as it is afterwards; ready to run when nothing is left to be answered. */
  answer(id: string, owner: string, answers: Answers): Promise<TaskRecord | undefined>
  /** Gives the task as it is afterwards; a task that has ended stays as it is. */
  cancel(id: string, owner: string): Promise<TaskRecord | undefined>
  work(options: WorkOptions): Working
  /** Calls `listener` after every change that the owner can see, by any process; sometimes also without one. */
  watch(id: string, listener: () => void): () => void
  close(): Promise<void>
}

/** What every engine can be told. */
export interface EngineOptions {
  /** How long a worker may be silent before others take its tasks, in milliseconds. @default 15000 */
  leaseMs?: number
  /** How long an ended task without a TTL of its own is kept, in milliseconds. @default 604800000, a week */
  keepMs?: number
  /** How often in a row, without getting any further, a task may lose its worker before it is given up. @default 20 */
  maxLosses?: number
  /** The largest step result, answer, argument or result, in bytes of JSON. @default 4194304 */
  maxEntryBytes?: number
}

export type EngineSettings = Readonly<Required<EngineOptions>>

const DAY_MS = 86_400_000
// Of milliseconds that is three thousand years: with a date added it is still a whole number.
export const MAX_OPTION = 1e14

/** What an engine was told, with every default, or why that cannot be. */
export function engineSettings(options: EngineOptions): EngineSettings {
  const { leaseMs = 15_000, keepMs = 7 * DAY_MS, maxLosses = 20, maxEntryBytes = 4_194_304 } = options
  assertBetween('leaseMs', leaseMs, 100, DAY_MS)
  assertBetween('keepMs', keepMs, 0, MAX_OPTION)
  assertBetween('maxLosses', maxLosses, 0, MAX_OPTION)
  assertBetween('maxEntryBytes', maxEntryBytes, 1024, MAX_OPTION)
  return { leaseMs, keepMs, maxLosses, maxEntryBytes }
}

/** Throws for what is no whole number, or too small or large for this option. */
export function assertBetween(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new TaskError('TASK_OPTION', `${name} is a whole number from ${least} to ${most}.`)
}
