import type { Spread } from './statistics.ts'

/** A measured number with a required value. */
export interface Figure {
  label: string
  value: Spread
  /** The mean, where `value` is a median: it includes rare slow units. */
  onAverage?: Spread
  /** The same by CPU time, which varies less while other processes use the machine. Printed only. */
  byCpu?: Spread
  required: number
  /** A better value that we aim at. Printed only. */
  aim?: number
  /** @default 'atLeast' */
  wanted?: 'atLeast' | 'atMost'
}

export type Verdict = 'met' | 'SHORT'

/** The median decides. */
export function verdict(figure: Figure, target: number = figure.required): Verdict {
  const { median } = figure.value
  const met = figure.wanted === 'atMost' ? median <= target : median >= target
  return met ? 'met' : 'SHORT'
}
