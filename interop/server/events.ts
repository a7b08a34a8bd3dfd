/**
 * What a server saw, for the checks: a file with a line for each event, because a client on stdio starts the server
 * itself, and two instances have one file.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export type ServerSaw =
  /** A round of a call, or a run of a task, began. */
  | { kind: 'call'; name: string; era: 'modern' | 'legacy'; asTask: boolean; wantsProgress: boolean }
  /** The tool `wait` has begun. */
  | { kind: 'waiting' }
  /** The tool `wait` was cancelled. */
  | { kind: 'cancelled' }

export type Report = (event: ServerSaw) => void

export function reportTo(file: string): Report {
  return (event) => appendFileSync(file, `${JSON.stringify(event)}\n`)
}

export function eventsIn(file: string): readonly ServerSaw[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as ServerSaw)
}
