import type { Place } from './engines.ts'

/** What a process of the tasks' case is, as its command line says it. */
export interface TaskRole {
  /** Who keeps the tasks; `answers` is an engine, too, whose tasks ask. */
  keeper: 'engine' | 'statements' | 'answers'
  place: Place
}

export function readTaskRole([text = '']: readonly string[] = process.argv.slice(2)): TaskRole {
  return JSON.parse(text) as TaskRole
}

export function writeTaskRole(role: TaskRole): string[] {
  return [JSON.stringify(role)]
}
