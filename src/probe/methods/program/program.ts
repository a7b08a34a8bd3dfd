/** Method 5, what its files say: the probability that the process keeps something, from the text of the program itself. */
import { type MethodResult, methodResult } from '../result.ts'
import type { FoundSignal } from '../toolSignals.ts'
import { confidenceOf, judged, logistic } from '../tools.ts'
import { isTelling, type ProgramFacts, type ProgramSignalName, programSignals } from './signals.ts'
import { PROGRAM_CALIBRATION, PROGRAM_INTERCEPT, PROGRAM_THRESHOLD, PROGRAM_WEIGHTS, TOGETHER } from './weights.ts'

const MODEL = {
  intercept: PROGRAM_INTERCEPT,
  weights: PROGRAM_WEIGHTS,
  threshold: PROGRAM_THRESHOLD,
  calibration: PROGRAM_CALIBRATION,
}

export function programResult(facts: ProgramFacts): MethodResult {
  if (!isTelling(facts)) {
    const why = 'Its files do not tell: they are no JavaScript, too long, or one bundle.'
    return methodResult('program', 'UNKNOWN', why, { confidence: 0 })
  }
  return resultOfSignals(programSignals(facts))
}

/** The judgement, from signals that were found now or recorded before. */
export function resultOfSignals(signals: readonly FoundSignal<ProgramSignalName>[]): MethodResult {
  const { state, because, ...rest } = judged(signals, MODEL)
  const nothing = 'Its files show little that calls leave in the process.'
  return methodResult('program', state, because[0] ?? nothing, rest)
}

export interface ToldTogether {
  readonly state: 'STATELESS' | 'STATEFUL'
  readonly confidence: number
  /** The one that says more for this state. */
  readonly told: MethodResult
  readonly other: MethodResult
}

/** The combined judgement of tools and files. Undefined if one of them is silent. */
export function together(tools: MethodResult, program: MethodResult): ToldTogether | undefined {
  if (tools.state === 'UNKNOWN' || program.state === 'UNKNOWN') return undefined
  const byTools = TOGETHER.tools * toldOdds(tools)
  const byProgram = TOGETHER.program * logOdds(Number(program.details['probability']))
  const probability = logistic(TOGETHER.intercept + byTools + byProgram)
  const state = probability >= TOGETHER.threshold ? 'STATEFUL' : 'STATELESS'
  const isMoreOfProgram = state === 'STATEFUL' ? byProgram >= byTools : byProgram <= byTools
  const [told, other] = isMoreOfProgram ? [program, tools] : [tools, program]
  return { state, confidence: confidenceOf(probability, TOGETHER.calibration), told, other }
}

const MOST = 0.999

/** The weight of the tool definitions is their measured accuracy, so it is never large. */
export function toldOdds({ state, confidence }: Pick<MethodResult, 'state' | 'confidence'>): number {
  return state === 'STATEFUL' ? logOdds(confidence) : -logOdds(confidence)
}

/** No judgement is so sure that the other could not change it. */
export function logOdds(probability: number): number {
  const within = Math.min(MOST, Math.max(1 - MOST, probability))
  return Math.log(within / (1 - within))
}
