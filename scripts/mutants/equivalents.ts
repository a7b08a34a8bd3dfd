import type { Change } from './operators.ts'

/** A change that no test can notice, judged by a person. */
export interface Equivalent {
  path: string
  /** The line of the source on which the change begins, without the spaces around it. */
  line: string
  before: string
  after: string
  /** Why nothing that anyone could see depends on it. */
  reason: string
}

/** Whether the change is in the list. */
export function isEquivalent(change: Change, text: string, list: readonly Equivalent[]): boolean {
  return list.some((entry) => matches(entry, change, text))
}

/** Entries that are no change of the sources any more, each with what is wrong. */
export function staleEquivalents(
  list: readonly Equivalent[],
  changesOf: (path: string) => { text: string; changes: readonly Change[] } | undefined,
): string[] {
  return list.flatMap((entry) => {
    const source = changesOf(entry.path)
    if (entry.reason.trim() === '') return [`${entry.path}: ${entry.line}: it has no reason.`]
    if (source?.changes.some((change) => matches(entry, change, source.text))) return []
    return [`${entry.path}: ${entry.line}: the source has no such change any more; judge it again or remove it.`]
  })
}

function matches(entry: Equivalent, change: Change, text: string): boolean {
  const { path, before, after } = change
  return entry.path === path && entry.before === before && entry.after === after && entry.line === lineOf(change, text)
}

/** The line on which a change begins, as the list has it. */
function lineOf({ line }: Change, text: string): string {
  return text.split('\n')[line - 1]?.trim() ?? ''
}
