/**
 * Logistic regression with a prior: each weight is drawn towards a value that was set by hand, as strongly as `pull` says,
 * and the data move it from there. Deterministic: the same data give the same numbers.
 */

export interface Example {
  /** A number for each feature; the first is 1, for the intercept. */
  readonly features: readonly number[]
  readonly isPositive: boolean
}

const MAX_ROUNDS = 25
/** Smaller steps change nothing that is written down. */
const SMALL_STEP = 1e-6

/** Newton's method on the log loss plus `pull` times half the squared distance from the prior. */
export function fit(examples: readonly Example[], prior: readonly number[], pull: number): readonly number[] {
  let weights = [...prior]
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const gradient = weights.map((weight, at) => pull * (weight - (prior[at] ?? 0)))
    const hessian = weights.map((_, row) => weights.map((_weight, column) => (row === column ? pull : 0)))
    for (const { features, isPositive } of examples) {
      const probability = probabilityOf(weights, features)
      for (const [row, value] of features.entries()) {
        if (value === 0) continue
        gradient[row] = (gradient[row] ?? 0) + (probability - (isPositive ? 1 : 0)) * value
        const line = hessian[row] ?? []
        const curve = probability * (1 - probability) * value
        for (const [column, other] of features.entries()) line[column] = (line[column] ?? 0) + curve * other
      }
    }
    const step = solve(hessian, gradient)
    weights = weights.map((weight, at) => weight - (step[at] ?? 0))
    if (step.every((one) => Math.abs(one) < SMALL_STEP)) break
  }
  return weights
}

function probabilityOf(weights: readonly number[], features: readonly number[]): number {
  return 1 / (1 + Math.exp(-features.reduce((total, value, at) => total + value * (weights[at] ?? 0), 0)))
}

/** For each example, the probability from weights that were fitted without it and the others of its fold. */
export function crossValidate(
  examples: readonly Example[],
  prior: readonly number[],
  { pull, folds }: { readonly pull: number; readonly folds: readonly number[] },
): readonly number[] {
  const fitted = new Map(
    [...new Set(folds)].map((fold) => {
      const others = examples.filter((_, at) => folds[at] !== fold)
      return [fold, fit(others, prior, pull)] as const
    }),
  )
  return examples.map(({ features }, at) => probabilityOf(fitted.get(folds[at] ?? -1) ?? prior, features))
}

/** Gaussian elimination. The pull makes the matrix positive definite, so no pivot is zero. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): readonly number[] {
  const rows = matrix.map((line, at) => [...line, right[at] ?? 0])
  for (const [at, pivot] of rows.entries()) {
    const head = pivot[at] ?? 1
    for (const other of rows) {
      if (other === pivot) continue
      const factor = (other[at] ?? 0) / head
      for (let column = at; column < other.length; column++)
        other[column] = (other[column] ?? 0) - factor * (pivot[column] ?? 0)
    }
  }
  return rows.map((line, at) => (line.at(-1) ?? 0) / (line[at] ?? 1))
}
