/** The prepared statements of all tables in the file. */
import { QuestionRows } from './questions.ts'
import { CallRows, StepRows } from './journal.ts'
import { ChangeRows } from './changes.ts'
import { LeaseRows } from './leases.ts'
import { NewTaskRows } from './create.ts'
import type { SqliteTaskStore } from '../store.ts'
import { ReadyRows } from './ready.ts'
import { RecordRows } from './records.ts'
import { Transitions } from './transitions.ts'
import { WorkerRows } from './workers.ts'

export class Tables {
  readonly store: SqliteTaskStore
  readonly questions: QuestionRows
  readonly calls: CallRows
  readonly steps: StepRows
  readonly changes: ChangeRows
  readonly records: RecordRows
  readonly newTasks: NewTaskRows
  readonly transitions: Transitions
  readonly leases: LeaseRows
  readonly ready: ReadyRows
  readonly workers: WorkerRows

  constructor(store: SqliteTaskStore) {
    this.store = store
    this.questions = new QuestionRows(store)
    this.calls = new CallRows(store)
    this.steps = new StepRows(store)
    this.changes = new ChangeRows(store)
    this.records = new RecordRows(store, this.questions)
    this.newTasks = new NewTaskRows(store, this)
    this.transitions = new Transitions(store, this.questions, this.changes)
    this.leases = new LeaseRows(store)
    this.ready = new ReadyRows(store)
    this.workers = new WorkerRows(store)
  }
}
