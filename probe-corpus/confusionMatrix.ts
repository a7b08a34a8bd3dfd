/** The confusion matrix of an approach, and its accuracy. */
import type { State } from 'pannier/probe'
import type { Truth } from './configuration.ts'

export const TRUTHS = ['STATELESS', 'STATEFUL'] as const
export const STATES = ['STATELESS', 'STATEFUL', 'UNKNOWN'] as const

/** The truth about a server, and the judgement. */
export interface Pair {
  readonly truth: Truth
  readonly state: State
}

/** For servers of each truth, how often each state was the judgement. */
export type Matrix = Readonly<Record<Truth, Readonly<Record<State, number>>>>

export function matrixOf(pairs: readonly Pair[]): Matrix {
  const row = (truth: Truth) => ({
    STATELESS: count(pairs, truth, 'STATELESS'),
    STATEFUL: count(pairs, truth, 'STATEFUL'),
    UNKNOWN: count(pairs, truth, 'UNKNOWN'),
  })
  return { STATELESS: row('STATELESS'), STATEFUL: row('STATEFUL') }
}

export interface Accuracy {
  readonly all: number
  /** Not UNKNOWN. */
  readonly decided: number
  readonly right: number
}

export function accuracyOf({ STATELESS, STATEFUL }: Matrix): Accuracy {
  const decided = STATELESS.STATELESS + STATELESS.STATEFUL + STATEFUL.STATELESS + STATEFUL.STATEFUL
  return {
    all: decided + STATELESS.UNKNOWN + STATEFUL.UNKNOWN,
    decided,
    right: STATELESS.STATELESS + STATEFUL.STATEFUL,
  }
}

/** A share in whole percent; less than all is never rounded to 100. */
export function percentOf(part: number, whole: number): string {
  if (whole === 0) return '–'
  const percent = Math.round((part / whole) * 100)
  return `${percent === 100 && part < whole ? 99 : percent} %`
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = 0, high = low] = sorted.length % 2 === 0 ? sorted.slice(middle - 1) : sorted.slice(middle)
  return sorted.length % 2 === 0 ? (low + high) / 2 : low
}

function count(pairs: readonly Pair[], truth: Truth, state: State): number {
  return pairs.filter((pair) => pair.truth === truth && pair.state === state).length
}
