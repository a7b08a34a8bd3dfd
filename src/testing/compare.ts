/** Compares the outcomes of two messages. A step may give another result each time: then only the kind is compared. */
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../protocol/index.ts'
import type { RoundOutcome } from './request.ts'

export type OutcomeDifference =
  | { readonly what: 'outcome'; readonly before: string; readonly after: string }
  | { readonly what: 'question'; readonly key: string }
  | { readonly what: 'result' }

export interface CompareOptions {
  /** Compares only the kind of outcome and the keys of the questions. */
  readonly kindOnly: boolean
  /** Removes the parts of a result that may differ. */
  readonly normalize: (result: Json) => unknown
}

export function compare(
  before: RoundOutcome,
  after: RoundOutcome,
  options: CompareOptions,
): OutcomeDifference | undefined {
  const [was, is] = [describe(before), describe(after)]
  if (was !== is) return { what: 'outcome', before: was, after: is }
  if (options.kindOnly) return undefined
  if (before.kind === 'asked' && after.kind === 'asked') return questionDifference(before, after)
  if (before.kind !== 'complete' || after.kind !== 'complete') return undefined
  const same = isDeepStrictEqual(options.normalize(before.result), options.normalize(after.result))
  return same ? undefined : { what: 'result' }
}

type AskedOutcome = Extract<RoundOutcome, { kind: 'asked' }>

function questionDifference(before: AskedOutcome, after: AskedOutcome): OutcomeDifference | undefined {
  const key = Object.keys(before.requests).find((at) => !isDeepStrictEqual(before.requests[at], after.requests[at]))
  return key === undefined ? undefined : { what: 'question', key }
}

/** The kind of an outcome in words, equal for outcomes of the same kind. */
export function describe(outcome: RoundOutcome): string {
  switch (outcome.kind) {
    case 'asked': {
      const keys = Object.keys(outcome.requests).toSorted()
      return keys.length === 0 ? 'handed over' : `asked ${keys.map((key) => `"${key}"`).join(', ')}`
    }
    case 'complete':
      return outcome.result['isError'] === true ? 'failed' : 'completed'
    case 'task':
      return 'became a task'
    case 'refused':
      return `was refused with ${outcome.code}`
    default:
      return outcome satisfies never
  }
}
