/**
 * The contract of a task engine: where tasks are stored, and which worker runs them.
 *
 * Invariants, for every engine:
 * - once a promise of an engine has resolved, its write survives a crash of any process, its own included;
 * - a task that is ready to run is leased to one worker at a time. Every write of a lease names the lease, and a worker
 *   that has lost its lease can write nothing more (`LEASE_LOST`), whether it knows of the loss or not;
 * - a worker that dies or freezes loses its leases within `leaseMs`, whatever its clock says, and a worker that cannot
 *   renew its leases knows that they are over before others may claim their tasks (`isOver`). A run that returns without
 *   having ended its lease loses it as well, after a pause;
 * - tasks of a lost worker are claimed again at once; those that lose a second one in a row come back after a pause, and
 *   nothing is claimed beside them for a while (`attempts.ts`). A loss is charged to such a task, or to the only one of its
 *   worker. A task that is charged with more than `maxLosses` in a row without progress (a new step, a question) fails;
 * - free slots go to the callers with the fewest running tasks, and of these to the oldest task (`fairness.ts`). A task
 *   that was run before keeps its place among those of its caller;
 * - a task ends once: of several concurrent ends exactly one takes effect, and nothing changes a task afterwards;
 * - a task of another owner looks like one that does not exist, and finding that out takes the same work;
 * - a write of a lease whose response was lost may be repeated: a step that is already stored is no error, and a claim
 *   that the same lease made is 'fresh' again.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { AnsweredBy, Approvers, Journal } from '../journal/index.ts'
import { DAY_MS, type Json, type OptionNames, type TaskStatus } from '../protocol/index.ts'
import type { AnswerWay, Logger, QuestionOutcome } from '../server/index.ts'
import type { StateError } from '../state/internal.ts'
import { MAX_LOSSES } from './attempts.ts'
import { TaskError } from './errors.ts'
import { MAX_TASKS_PER_CALLER } from './fairness.ts'
import { LEASE_MS } from './leaseTimes.ts'

/** A JSON-RPC error as it goes over the wire. */
export interface TaskFailure {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Progress that a handler reported by `ctx.progress`. */
export interface TaskProgress {
  readonly progress: number
  readonly total?: number | undefined
}

/** A task as its owner may see it. */
export interface TaskRecord {
  readonly id: string
  readonly tool: string
  readonly status: TaskStatus
  readonly statusMessage: string | undefined
  /** Undefined if its handler has reported none. */
  readonly progress: TaskProgress | undefined
  /** Milliseconds since 1970, by the engine's clock. */
  readonly createdAt: number
  readonly updatedAt: number
  /** TTL from creation. A task with null lives until it ends, and is then kept for `keepMs`. */
  readonly ttlMs: number | null
  /** The unanswered questions by their keys on the wire. Empty unless the status is input_required. */
  readonly questions: ReadonlyMap<string, InputRequest>
  /** The handler's keys of questions that are asked again, by their keys on the wire. */
  readonly handlerKeys?: ReadonlyMap<string, string>
  /** The approvers, for questions to somebody other than the owner. */
  readonly approvers: ReadonlyMap<string, Approvers>
  /** Set when the task is completed. */
  readonly result: Json | undefined
  /** Set when the task has failed. */
  readonly failure: TaskFailure | undefined
}

/** A task that begins. */
export interface NewTask {
  readonly id: string
  /** Identifies the caller; empty on a server that does not authenticate callers. */
  readonly owner: string
  /** The quota in which the task counts: the principal's, or for anonymous callers the network's or session's. */
  readonly holder: string
  /** The member of the holder: a session of a network. It has the limit of one caller. */
  readonly member?: string | undefined
  readonly tool: string
  readonly args: Json
  /** The facts about the caller that a run needs, as JSON. The engine does not read them. */
  readonly caller: Json
  /** The journal of the call so far. Its id identifies the call: a call that is sent twice creates one task. */
  readonly journal: Journal
  readonly ttlMs: number | null
  /** How long each question of the task can be answered, in milliseconds; then the task fails. @default as long as the task lives */
  readonly answerMs?: number | undefined
  /** The key of equal calls of the owner, which share one task until `forgetCall`. */
  readonly same?: string | undefined
}

/** A question of a run, for the owner of its task or for named approvers. */
export interface NewQuestion {
  /** The handler's key. If the task has already used it on the wire, the engine chooses another one there. */
  readonly key: string
  readonly request: InputRequest
  /** Fingerprint of the question; undefined if it is not pinned. */
  readonly question: string | undefined
  /** How often it has been asked, including this time. */
  readonly times: number
  /** The approvers who may answer; undefined if the owner may. */
  readonly approvers?: Approvers | undefined
}

/** A question that is open, as those may see it who may answer it. */
export interface OpenQuestionRecord {
  /** Its place among all questions of the store. Later questions have larger ones. */
  readonly place: number
  readonly task: string
  readonly tool: string
  /** Its key on the wire. */
  readonly key: string
  readonly request: InputRequest
  /** Undefined if the owner of the task is asked. */
  readonly approvers: Approvers | undefined
  /** Milliseconds since 1970, by the engine's clock. */
  readonly askedAt: number
  /** Until when it can be answered; null without a limit. */
  readonly expiresAt: number | null
  /** Whether the task belongs to `owner` of the query. */
  readonly isOwner: boolean
  /** The facts about the caller of the task, as they were stored. */
  readonly caller: Json
  /** The channels that failed to deliver its notice. */
  readonly undelivered: readonly string[]
}

/** A notice in the outbox. */
export interface NoticeRef {
  /** The place of its question. */
  readonly place: number
  readonly channel: string
}

/** A notice that this process has to send. */
export interface DueNotice {
  readonly question: OpenQuestionRecord
  readonly channel: string
  /** Counted from 1. */
  readonly attempt: number
}

/** A question of a stored task, also after it was closed. */
export interface QuestionRecord extends OpenQuestionRecord {
  readonly outcome: QuestionOutcome
}

export interface OpenQuestionQuery {
  /** The caller whose own questions are included; undefined for none. */
  readonly owner: string | undefined
  /** The names in `by`; at most 400 of them count. */
  readonly names: readonly string[]
  /** The place after which the page begins. */
  readonly after: number
  readonly limit: number
}

/** A client's answers by the keys on the wire. Keys without an open question are ignored. */
export interface TaskAnswers {
  readonly accepted: ReadonlyMap<string, Json>
  /** Malformed answers. The engine asks these questions again under new keys; after a few times only the run does. */
  readonly refused: ReadonlySet<string>
  /** The answering principal, which is stored with the accepted answers. */
  readonly by?: AnsweredBy | undefined
  /** The way of the answers. */
  readonly way?: AnswerWay | undefined
}

/** How a task ends. */
export type TaskEnd =
  | { readonly status: 'completed'; readonly result: Json; readonly statusMessage?: string | undefined }
  | { readonly status: 'failed'; readonly failure: TaskFailure; readonly statusMessage?: string | undefined }

/** The right to run one task for a limited time. Every method rejects with `LEASE_LOST` once the lease is over. */
export interface Lease {
  readonly id: string
  readonly tool: string
  readonly args: Json
  readonly caller: Json
  /** The committed journal, with the answers to the latest questions. */
  readonly journal: Journal
  /** Aborted when the lease is lost: another worker has it, or the task was cancelled or has expired. */
  readonly signal: AbortSignal
  /**
   * Whether the lease is over, also by the clock: after a freeze the timer that aborts the signal is late. Nothing may
   * be started after that.
   */
  isOver(): boolean
  /** Commits the result of a step; an empty object stands for undefined. */
  step(key: string, result: { readonly value?: unknown }): Promise<void>
  /** Claims a single use: 'fresh' for the first claim, 'running' if an earlier run claimed it and never settled it. */
  claim(key: string): Promise<'fresh' | 'running'>
  /** Withdraws a claim whose work was not done. */
  unclaim(key: string): Promise<void>
  /** Stores the `statusMessage` that the owner sees, and the progress. */
  note(statusMessage: string, progress?: TaskProgress): Promise<void>
  /**
   * Ends the lease: the task waits for the answers. Without questions it is ready again at once. `own`: the state that
   * a handler in explicit style keeps between its runs.
   */
  ask(questions: readonly NewQuestion[], own: unknown): Promise<void>
  /** Ends the lease and the task. */
  end(end: TaskEnd): Promise<void>
  /** Ends the lease: the task is ready for any worker. */
  giveBack(): Promise<void>
}

export interface WorkOptions {
  /** Tools that this process can run; only their tasks are leased to it. */
  readonly tools: readonly string[]
  /** The number of concurrent runs. */
  readonly concurrency: number
  /** Runs a task until its lease has ended. Never rejects. Returning earlier counts as the loss of a worker. */
  readonly run: (lease: Lease) => Promise<void>
}

/** A process that runs tasks. */
export interface Working {
  serve(tool: string): void
  /** Claims no more tasks; resolves when no task is running. It does not abort runs. */
  stop(): Promise<void>
}

/** The server whose tasks an engine keeps. */
export interface EngineHost {
  /** Servers with the same audience share tasks; tasks of another audience in the same store are separate. */
  readonly audience: string
  readonly logger: () => Logger
  /** The names of the channels by which people are notified of questions. @default none */
  readonly channels?: readonly string[]
}

/** A page of a list ends early once its results have this number of bytes. */
export const PAGE_BYTES = 8_388_608

/** A page of the tasks of a caller. */
export interface Page {
  readonly tasks: readonly TaskRecord[]
  /** The cursor of the next page, which is a task id; undefined on the last page. */
  readonly next: string | undefined
}

/** Where tasks are stored, claimed and watched. Write one for another database. */
export interface TaskEngine {
  /** Connects and migrates the schema. Called once, before anything else. */
  open(host: EngineHost): Promise<void>
  /** The reason why tasks are not run now; undefined while the store works. */
  trouble(): StateError | undefined
  /**
   * Creates a task, or returns the task that the same call created before. A damaged store accepts none (`STORE_CORRUPT`).
   */
  create(task: NewTask): Promise<TaskRecord>
  read(id: string, owner: string): Promise<TaskRecord | undefined>
  /**
   * A task of any owner, without its progress, while it waits for approvers. It does not check that the reader is one of
   * `approvers`.
   */
  awaiting(id: string): Promise<TaskRecord | undefined>
  /** The ids among these of tasks that the owner has. Reads no results, which may be large. */
  existing(ids: readonly string[], owner: string): Promise<string[]>
  /** Newest first; at most `limit` tasks, fewer if their results are large. */
  list(owner: string, after: string | undefined, limit: number): Promise<Page>
  /**
   * Returns the task after the change. It is ready to run once every question is answered. Without an owner the task
   * may be of any owner, and only questions that name their approvers are answered.
   */
  answer(id: string, owner: string | undefined, answers: TaskAnswers): Promise<TaskRecord | undefined>
  /** Stores one answer, as `answer` does. False if the question is not open. */
  answerOne(
    id: string,
    owner: string | undefined,
    key: string,
    answer: Pick<TaskAnswers, 'by' | 'way'> & { readonly response: Json },
  ): Promise<boolean>
  /** Open questions by their place: those for one of the names, and the owner's own. Does not check who may answer. */
  openQuestions(query: OpenQuestionQuery): Promise<readonly OpenQuestionRecord[]>
  /** A question of any owner's task, by its key on the wire. It does not check who may see it. */
  question(id: string, key: string, owner: string | undefined): Promise<QuestionRecord | undefined>
  /** The outbox of notices (`sql/questions/notices.ts`). `claim`: for how long a process has the notices that it gets. */
  readonly notices: {
    claim(retryMs: number): Promise<readonly DueNotice[]>
    remove(notice: NoticeRef): Promise<void>
    postpone(notice: NoticeRef, waitMs: number | undefined): Promise<void>
  }
  /** The task of the owner with this `same`. */
  sameCall(owner: string, same: string): Promise<TaskRecord | undefined>
  /** From now on `sameCall` does not find the task. */
  forgetCall(id: string, owner: string): Promise<void>
  /** Returns the task after the change. A task that has ended is not changed. */
  cancel(id: string, owner: string): Promise<TaskRecord | undefined>
  work(options: WorkOptions): Working
  /** Calls `listener` after every change that the owner can see, by any process; spurious calls are possible. */
  watch(id: string, listener: () => void): () => void
  close(): Promise<void>
}

/** The options that every engine has. */
export interface EngineOptions {
  /** How long a worker may be silent before others reclaim its tasks, in milliseconds. @default 15000 */
  leaseMs?: number
  /** How long an ended task without its own TTL is kept, in milliseconds. @default 604800000, a week */
  keepMs?: number
  /**
   * How many lost workers in a row, without progress, a task may be charged with before it fails. Tasks that lose a worker
   * together are not charged: after the second time they come back one at a time. @default 20
   */
  maxLosses?: number
  /** The largest step result, answer, argument or result, in bytes of JSON. @default 4194304 */
  maxEntryBytes?: number
  /**
   * How many unfinished tasks one caller may have: a principal; for the anonymous a session, or without one the network that
   * they come from. All the sessions of one network may have ten times as many. Expired tasks count until they are
   * removed, within about half a minute. @default 1000
   */
  maxTasksPerCaller?: number
}

export const ENGINE_OPTIONS: OptionNames<EngineOptions> = {
  leaseMs: true,
  keepMs: true,
  maxLosses: true,
  maxEntryBytes: true,
  maxTasksPerCaller: true,
}

export type EngineSettings = Readonly<Required<EngineOptions>>

// About three thousand years in milliseconds: added to a date it is still a safe integer.
export const MAX_OPTION = 1e14

export function engineSettings(options: EngineOptions): EngineSettings {
  const { leaseMs = LEASE_MS, keepMs = 7 * DAY_MS, maxLosses = MAX_LOSSES } = options
  const { maxEntryBytes = 4_194_304, maxTasksPerCaller = MAX_TASKS_PER_CALLER } = options
  assertBetween('leaseMs', leaseMs, 100, DAY_MS)
  assertBetween('keepMs', keepMs, 0, MAX_OPTION)
  assertBetween('maxLosses', maxLosses, 0, MAX_OPTION)
  assertBetween('maxEntryBytes', maxEntryBytes, 1024, MAX_OPTION)
  assertBetween('maxTasksPerCaller', maxTasksPerCaller, 1, MAX_OPTION)
  return { leaseMs, keepMs, maxLosses, maxEntryBytes, maxTasksPerCaller }
}

/** Throws unless the value is a whole number in this range. */
export function assertBetween(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new TaskError('TASK_OPTION', `${name} is a whole number from ${least} to ${most}.`)
}
