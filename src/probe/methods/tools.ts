/** Method 4, what its tools say: the probability that the process keeps something, from the signals and their weights. */
import type { Json } from '../../protocol/index.ts'
import type { Calibration } from './program/weights.ts'
import { type MethodResult, methodResult } from './result.ts'
import { type FoundSignal, signalsIn } from './toolSignals.ts'
import { CALIBRATION, INTERCEPT, THRESHOLD, WEIGHTS } from './toolWeights.ts'

const MODEL = { intercept: INTERCEPT, weights: WEIGHTS, threshold: THRESHOLD, calibration: CALIBRATION }

/** `capabilities`: the declared ones, if known. */
export function toolsResult(tools: readonly Json[], capabilities: Json = {}): MethodResult {
  if (tools.length === 0) return methodResult('tools', 'UNKNOWN', 'It lists no tools.', { confidence: 0 })
  const { state, because, ...rest } = judged(signalsIn(tools, capabilities), MODEL)
  const nothing = 'Its tools say nothing of anything that is kept between calls.'
  return methodResult('tools', state, (state === 'STATEFUL' ? because[0] : undefined) ?? nothing, rest)
}

/** A logistic regression: the weight of each signal, and from which probability on the process is said to keep something. */
interface SignalModel<Name extends string> {
  readonly intercept: number
  readonly weights: Readonly<Record<Name, number>>
  readonly threshold: number
  readonly calibration: readonly Calibration[]
}

/** The combined probability of signals. `because`: the sentences for the state, by weight. */
export function judged<Name extends string>(
  signals: readonly FoundSignal<Name>[],
  { intercept, weights, threshold, calibration }: SignalModel<Name>,
) {
  const weightOf = ({ name, strength }: FoundSignal<Name>): number => weights[name] * strength
  const probability = logistic(signals.reduce((sum, signal) => sum + weightOf(signal), intercept))
  const state = probability >= threshold ? 'STATEFUL' : 'STATELESS'
  const because = signals
    .filter(({ name }) => weights[name] > 0 === (state === 'STATEFUL'))
    .toSorted((one, other) => Math.abs(weightOf(other)) - Math.abs(weightOf(one)))
    .map(({ sentence }) => sentence)
  const details = { probability: Math.round(probability * 1000) / 1000, because }
  return { state, because, confidence: confidenceOf(probability, calibration), details } as const
}

export function logistic(odds: number): number {
  return 1 / (1 + Math.exp(-odds))
}

/** The maximum, because state may exist without a sign. */
export const MAX_CONFIDENCE = 0.9

/** How often a judgement of this probability was right for servers that the weights had not seen. */
export function confidenceOf(probability: number, calibration: readonly Calibration[]): number {
  const row = calibration.find(({ below }) => probability < below) ?? calibration.at(-1)
  return Math.min(row?.right ?? 0, MAX_CONFIDENCE)
}
