/** A task that this worker holds, as it lies in the tables. */
import type { Journal } from '../../journal/index.ts'
import { journalOf, readEntry, readObject, readString } from '../../tasks/internal.ts'

export type HeldTask = HeldRow & JournalRow

export interface HeldRow {
  readonly task: string
  /** Tells this lease from every other of the task. */
  readonly epoch: string
  readonly job: string
  readonly losses: number
  readonly id: string
  readonly tool: string
  readonly args: string
  readonly caller: string
  readonly call_id: string
  readonly begun_at: number | null
  readonly own: string | null
  readonly round: number
  /** How long the task may still live, in milliseconds. */
  readonly left_ms: number | null
}

export interface JournalRow {
  readonly task: string
  readonly steps: readonly (readonly [key: string, value: string | null])[]
  readonly asks: readonly (readonly [key: string, question: string | null, times: number, response: string | null])[]
}

export function readJournal(row: HeldTask): Journal {
  return journalOf({
    call: readString(row.call_id),
    round: row.round,
    own: row.own === null ? undefined : readEntry(row.own),
    begunAt: row.begun_at ?? undefined,
    steps: row.steps.map(([key, value]) => {
      return { key: readString(key), result: value === null ? {} : { value: readEntry(value) } }
    }),
    asks: row.asks.map(([key, question, times, response]) => ({
      key: readString(key),
      question: question === null ? undefined : readString(question),
      times,
      response: response === null ? undefined : readObject(response),
    })),
  })
}
