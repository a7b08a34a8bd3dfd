/** Claims tasks that are ready, inside a transaction, and reads what a run needs of each. */
import { StateError } from '../../state/internal.ts'
import { withStoreErrors } from '../../state/stores/index.ts'
import { readString } from '../entry.ts'
import { UNREADABLE } from '../errors.ts'
import { journalOf } from '../journalRows.ts'
import type { SqliteLeaseKey } from './rows/leases.ts'
import type { LeaseContent } from './lease.ts'
import type { SqliteRow } from './store.ts'
import type { Tables } from './rows/tables.ts'
import type { WorkOptions } from '../engine.ts'
import type { TrialSlot } from '../trial.ts'

export interface ClaimedTask {
  readonly slots: WorkerSlots
  readonly content: LeaseContent
}

export interface SqliteClaimOptions {
  readonly worker: string
  readonly slots: Iterable<WorkerSlots>
  readonly trials: TrialSlot
}

/** Claims one suspect, or other tasks that are ready, as many as there are free slots. */
export function claimReady(tables: Tables, { worker, slots, trials }: SqliteClaimOptions): ClaimedTask[] {
  // A worker without a row in `workers` claims nothing: no other worker could reclaim its tasks.
  if (trials.isTaken || !tables.workers.isRegistered(worker)) return []
  const all = [...slots]
  const suspect = () => claimSuspect(tables, worker, all)
  const others = () => all.flatMap((some) => claimFor(some, tables, worker))
  const [first, second] = trials.pauseMs > 0 ? [others, suspect] : [suspect, others]
  const claimed = first()
  return claimed.length > 0 ? claimed : second()
}

function claimSuspect(tables: Tables, worker: string, all: readonly WorkerSlots[]): ClaimedTask[] {
  for (const slots of all) {
    const row = slots.free > 0 ? tables.leases.suspect(slots.tools) : undefined
    if (row === undefined) continue
    // The others are claimed when the trial is over.
    for (const each of all) each.mayHaveMore = true
    return claimRow(slots, tables, worker, row)
  }
  return []
}

function claimFor(slots: WorkerSlots, tables: Tables, worker: string): ClaimedTask[] {
  const claimed: ClaimedTask[] = []
  slots.mayHaveMore = true
  while (slots.mayHaveMore && claimed.length < slots.free) {
    const rows = tables.ready.next(slots.tools, slots.free - claimed.length)
    slots.mayHaveMore = rows.length > 0
    for (const row of rows) claimed.push(...claimRow(slots, tables, worker, row))
  }
  return claimed
}

function claimRow(slots: WorkerSlots, tables: Tables, worker: string, row: SqliteRow): ClaimedTask[] {
  const key = { task: Number(row['number']), worker, epoch: Number(row['epoch']) + 1 }
  tables.leases.assign(key)
  const content = contentOrFail(tables, key, row)
  return content === undefined ? [] : [{ slots, content }]
}

/** A task with damaged rows fails here; otherwise it would be claimed again and again and block those behind it. */
function contentOrFail(tables: Tables, key: SqliteLeaseKey, row: SqliteRow): LeaseContent | undefined {
  try {
    return withStoreErrors(() => contentOf(tables, key, row))
  } catch (error) {
    if (!(error instanceof StateError) || error.code !== 'STORE_CORRUPT') throw error
    tables.store
      .logger()
      .error({ task: row['id'], code: error.code }, 'The stored data of a task is damaged; the task fails.')
    tables.transitions.fail(key.task, UNREADABLE)
    return undefined
  }
}

function contentOf({ calls, steps, questions }: Tables, key: SqliteLeaseKey, row: SqliteRow): LeaseContent {
  const { task } = key
  const { args, caller, own, begunAt } = calls.ofTask(task)
  const call = readString(row['call'])
  const round = Number(row['round'])
  return {
    key,
    id: readString(row['id']),
    tool: readString(row['tool']),
    args,
    caller,
    journal: journalOf({ call, round, own, begunAt, steps: steps.ofTask(task), asks: questions.ofTask(task) }),
    hasLosses: row['losses'] !== 0 || row['crashes'] !== 0,
    crashes: Number(row['crashes']),
    expiresAt: row['expires_at'] === null ? null : Number(row['expires_at']),
  }
}

/** The slots of one call of `work`: which tools it runs, how many tasks at a time, and how many slots are free. */
export class WorkerSlots {
  readonly run: WorkOptions['run']
  readonly #concurrency: number
  /** The names of the tools, each as JSON text. */
  readonly tools: Set<string>
  readonly #onIdle: (() => void)[] = []
  /** Whether tasks may be ready for which there was no free slot. */
  mayHaveMore = false
  #running = 0
  #isStopped = false

  constructor({ tools, concurrency, run }: WorkOptions) {
    this.run = run
    this.#concurrency = concurrency
    this.tools = new Set(tools.map((tool) => JSON.stringify(tool)))
  }

  /** The number of free slots. */
  get free(): number {
    return this.#isStopped ? 0 : this.#concurrency - this.#running
  }

  serve(tool: string): void {
    this.tools.add(JSON.stringify(tool))
  }

  occupy(): void {
    this.#running++
  }

  release(): void {
    this.#running--
    if (this.#running === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Takes no more tasks; resolves when every slot is free. */
  async stop(): Promise<void> {
    this.#isStopped = true
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve))
  }
}
