import { DAY_MS } from '../../protocol/index.ts'

const UNITS = [
  ['d', DAY_MS],
  ['h', 3_600_000],
  ['min', 60_000],
] as const

/** A length of time in its largest whole unit. */
export function age(ms: number): string {
  const [unit, length] = UNITS.find((candidate) => ms >= candidate[1]) ?? ['s', 1000]
  return `${Math.max(0, Math.floor(ms / length))} ${unit}`
}
