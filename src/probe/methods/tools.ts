/** Method 4, what its tools say: the probability that the process keeps something, from the signals and their weights. */
import type { Json } from '../../protocol/index.ts'
import { type MethodResult, methodResult } from './result.ts'
import { type FoundSignal, signalsIn } from './toolSignals.ts'
import { CALIBRATION, INTERCEPT, THRESHOLD, WEIGHTS } from './toolWeights.ts'

/** The capabilities are those that the server declares, as far as they are known. */
export function toolsResult(tools: readonly Json[], capabilities: Json = {}): MethodResult {
  if (tools.length === 0) return methodResult('tools', 'UNKNOWN', 'It lists no tools.', { confidence: 0 })
  const signals = signalsIn(tools, capabilities)
  const probability = keepsProbability(signals)
  const state = probability >= THRESHOLD ? 'STATEFUL' : 'STATELESS'
  const because = signals.filter(({ name }) => WEIGHTS[name] > 0 === (state === 'STATEFUL')).toSorted(byWeight)
  const sentences = because.map(({ sentence }) => sentence)
  const nothing = 'Its tools say nothing of anything that is kept between calls.'
  return methodResult('tools', state, (state === 'STATEFUL' ? sentences[0] : undefined) ?? nothing, {
    confidence: confidenceOf(probability),
    details: { probability: Math.round(probability * 1000) / 1000, because: sentences },
  })
}

function keepsProbability(signals: readonly FoundSignal[]): number {
  const sum = signals.reduce((total, { name, strength }) => total + WEIGHTS[name] * strength, INTERCEPT)
  return 1 / (1 + Math.exp(-sum))
}

/** What tools do not say may be kept nevertheless, so this is the most. */
export const MAX_CONFIDENCE = 0.9

/** How often a judgement of this probability was right for servers that the weights had not seen. */
function confidenceOf(probability: number): number {
  const row = CALIBRATION.find(({ below }) => probability < below) ?? CALIBRATION.at(-1)
  return Math.min(row?.right ?? 0, MAX_CONFIDENCE)
}

function byWeight(one: FoundSignal, other: FoundSignal): number {
  return Math.abs(WEIGHTS[other.name] * other.strength) - Math.abs(WEIGHTS[one.name] * one.strength)
}
