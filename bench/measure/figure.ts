import type { Spread } from './statistics.ts'

/** A number that was asked for. */
export interface Figure {
  label: string
  value: Spread
  /** The same of all units together, where the value is of the middle one: what happens now and then is in it, too. */
  onAverage?: Spread
  /** The same by CPU time, printed beside it: steadier on a machine that others use too. */
  byCpu?: Spread
  asked: number
  /** What we are after beyond what was asked. */
  aim?: number
  /** @default 'atLeast' */
  wanted?: 'atLeast' | 'atMost'
}

export type Verdict = 'met' | 'SHORT'

/** The median decides; the spread is printed beside it. */
export function verdict(figure: Figure, target: number = figure.asked): Verdict {
  const { median } = figure.value
  const met = figure.wanted === 'atMost' ? median <= target : median >= target
  return met ? 'met' : 'SHORT'
}
