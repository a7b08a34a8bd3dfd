/** Taking tasks that are ready, inside a transaction, with all that a run needs. */
import { StateError } from '../../state/internal.ts'
import { withStoreErrors } from '../../state/stores/index.ts'
import { readString } from '../entry.ts'
import { UNREADABLE } from '../errors.ts'
import { journalOf } from '../journalRows.ts'
import type { LeaseKey } from './rows/leases.ts'
import type { LeaseContent } from './lease.ts'
import type { Row } from './store.ts'
import type { Tables } from './rows/tables.ts'
import type { WorkOptions } from '../engine.ts'

export interface Taken {
  readonly order: WorkOrder
  readonly content: LeaseContent
}

/** Takes the oldest tasks of these orders, as many as there is room for. */
export function takeReady(tables: Tables, worker: string, orders: Iterable<WorkOrder>): Taken[] {
  // A worker that was declared dead takes nothing: nobody would take it over from there.
  if (!tables.workers.isKnown(worker)) return []
  return Array.from(orders, (order) => takeFor(order, tables, worker)).flat()
}

function takeFor(order: WorkOrder, tables: Tables, worker: string): Taken[] {
  const taken: Taken[] = []
  order.hasLeftSome = true
  while (order.hasLeftSome && taken.length < order.room) {
    const most = order.room - taken.length
    const rows = tables.leases.ready(order.tools, most)
    order.hasLeftSome = rows.length === most
    for (const row of rows) {
      const key = { task: Number(row['number']), worker, epoch: Number(row['epoch']) + 1 }
      tables.leases.take(key)
      const content = contentOrGiveUp(tables, key, row)
      if (content !== undefined) taken.push({ order, content })
    }
  }
  return taken
}

/** A task that cannot be read ends here: it would be taken again and again, and nobody behind it ever. */
function contentOrGiveUp(tables: Tables, key: LeaseKey, row: Row): LeaseContent | undefined {
  try {
    return withStoreErrors(() => contentOf(tables, key, row))
  } catch (error) {
    if (!(error instanceof StateError) || error.code !== 'STORE_CORRUPT') throw error
    tables.store.logger().error({ task: row['id'], code: error.code }, 'A task cannot be read and is given up.')
    tables.transitions.giveUp(key.task, UNREADABLE)
    return undefined
  }
}

function contentOf({ calls, steps, asks }: Tables, key: LeaseKey, row: Row): LeaseContent {
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
    journal: journalOf({ call, round, own, begunAt, steps: steps.ofTask(task), asks: asks.ofTask(task) }),
    hasLosses: row['losses'] !== 0,
    expiresAt: row['expires_at'] === null ? null : Number(row['expires_at']),
  }
}

/** What one caller of `work` wants to run, and how much of it runs. */
export class WorkOrder {
  readonly run: WorkOptions['run']
  readonly #concurrency: number
  /** The tools' names, each as JSON. */
  readonly tools: Set<string>
  readonly #onIdle: (() => void)[] = []
  /** Tasks may be ready that there was no room for. */
  hasLeftSome = false
  #running = 0
  #isStopped = false

  constructor({ tools, concurrency, run }: WorkOptions) {
    this.run = run
    this.#concurrency = concurrency
    this.tools = new Set(tools.map((tool) => JSON.stringify(tool)))
  }

  /** How many more may run. */
  get room(): number {
    return this.#isStopped ? 0 : this.#concurrency - this.#running
  }

  serve(tool: string): void {
    this.tools.add(JSON.stringify(tool))
  }

  begin(): void {
    this.#running++
  }

  end(): void {
    this.#running--
    if (this.#running === 0) for (const tell of this.#onIdle.splice(0)) tell()
  }

  /** Resolves when nothing runs. */
  async stop(): Promise<void> {
    this.#isStopped = true
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve))
  }
}
