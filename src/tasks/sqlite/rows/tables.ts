/** All that can be read and written in the file of one engine. */
import { AskRows } from './questions.ts'
import { CallRows, StepRows } from './journal.ts'
import { Changes } from './changes.ts'
import { LeaseRows } from './leases.ts'
import { NewTasks } from './create.ts'
import type { Store } from '../store.ts'
import { TaskRows } from './records.ts'
import { Transitions } from './transitions.ts'
import { WorkerRows } from './workers.ts'

export class Tables {
  readonly store: Store
  readonly asks: AskRows
  readonly calls: CallRows
  readonly steps: StepRows
  readonly changes: Changes
  readonly tasks: TaskRows
  readonly newTasks: NewTasks
  readonly transitions: Transitions
  readonly leases: LeaseRows
  readonly workers: WorkerRows

  constructor(store: Store) {
    this.store = store
    this.asks = new AskRows(store)
    this.calls = new CallRows(store)
    this.steps = new StepRows(store)
    this.changes = new Changes(store)
    this.tasks = new TaskRows(store, this.asks)
    this.newTasks = new NewTasks(store, this)
    this.transitions = new Transitions(store, this.asks, this.changes)
    this.leases = new LeaseRows(store)
    this.workers = new WorkerRows(store)
  }
}
