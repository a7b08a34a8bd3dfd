/** How often a way of judging servers is right. */
import type { State } from 'pannier/probe'
import type { Truth } from './configuration.ts'

export const TRUTHS = ['STATELESS', 'STATEFUL'] as const
export const SAID = ['STATELESS', 'STATEFUL', 'UNKNOWN'] as const

/** What is true of a server, and what was said about it. */
export interface Pair {
  readonly truth: Truth
  readonly state: State
}

/** How often each was said of servers of each kind. */
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

/** A share as whole percents; what is not all is never shown as 100. */
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
