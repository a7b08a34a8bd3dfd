/** Whether two sendings came to the same. What a step gives may differ each time it runs, so where one ran, less is compared. */
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../protocol/index.ts'
import type { RoundOutcome } from './request.ts'

export type OutcomeDifference =
  | { readonly what: 'outcome'; readonly before: string; readonly after: string }
  | { readonly what: 'question'; readonly key: string }
  | { readonly what: 'result' }

export interface CompareOptions {
  /** Compares only what kind of outcome there is, and which questions. */
  readonly loosely: boolean
  /** Takes out of a result what may differ. */
  readonly normalize: (result: Json) => unknown
}

export function compare(
  before: RoundOutcome,
  after: RoundOutcome,
  options: CompareOptions,
): OutcomeDifference | undefined {
  const [was, is] = [describe(before), describe(after)]
  if (was !== is) return { what: 'outcome', before: was, after: is }
  if (options.loosely) return undefined
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

/** The kind of an outcome in words; two outcomes of a kind have the same. */
export function describe(outcome: RoundOutcome): string {
  switch (outcome.kind) {
    case 'asked': {
      const keys = Object.keys(outcome.requests).toSorted()
      return keys.length === 0 ? 'handed over' : `asked ${keys.map((key) => `"${key}"`).join(', ')}`
    }
    case 'complete':
      return outcome.result['isError'] === true ? 'failed' : 'completed'
    case 'refused':
      return `was refused with ${outcome.code}`
    default:
      return outcome satisfies never
  }
}
