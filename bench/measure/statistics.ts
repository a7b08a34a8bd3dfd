/** The median, the lowest and the highest of some values. */
export interface Spread {
  median: number
  low: number
  high: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  return { median: middle(sorted), low: sorted[0] ?? Number.NaN, high: sorted.at(-1) ?? Number.NaN }
}

export function median(values: readonly number[]): number {
  return spreadOf(values).median
}

/** The quantile of a share from 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

function middle(sorted: readonly number[]): number {
  const half = sorted.length >> 1
  const upper = sorted[half] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2
}

/** Ratios within each round, because a busy machine slows both sides of a round alike. */
export function pairedRatio(ours: readonly number[], theirs: readonly number[]): Spread {
  return spreadOf(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)))
}

/** The p of the fitted y = c * x^p, by least squares on logarithms. */
export function fittedExponent(points: readonly { x: number; y: number }[]): number {
  const logs = points.map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }))
  return fittedSlope(logs)
}

/** The b of the fitted y = a + b * x. */
function fittedSlope(points: readonly { x: number; y: number }[]): number {
  const meanX = mean(points.map(({ x }) => x))
  const meanY = mean(points.map(({ y }) => y))
  const covariance = mean(points.map(({ x, y }) => (x - meanX) * (y - meanY)))
  return covariance / mean(points.map(({ x }) => (x - meanX) ** 2))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
