import type { Json } from '../protocol/index.ts'
import { ExerciseError } from './errors.ts'
import type { Finding } from './findings.ts'
import type { Flow } from './flow.ts'
import type { SentRound } from './harness.ts'

/** The result of an exercise. */
export interface Report {
  /** The name of the tool, prompt or resource. */
  readonly name: string
  /** Whether there are no findings. */
  readonly ok: boolean
  /** The result of the plain call; undefined if it did not end. */
  readonly result: Readonly<Record<string, unknown>> | undefined
  /** The rounds of the plain call. */
  readonly rounds: readonly RoundReport[]
  readonly findings: readonly Finding[]
}

export interface RoundReport {
  /** The keys of the questions. */
  readonly asked: readonly string[]
  /** The keys of the steps that ran. */
  readonly steps: readonly string[]
  /** The names of the effects that were recorded. */
  readonly effects: readonly string[]
  /** The size of the state that the client got. */
  readonly stateBytes: number
}

export function reportOf(name: string, { rounds }: Flow, findings: readonly Finding[]): Report {
  return { name, ok: findings.length === 0, result: resultOf(rounds), rounds: rounds.map(roundReport), findings }
}

/** Throws one error that lists all findings, if there are any. */
export function assertSound({ name, ok, findings }: Report): void {
  if (ok) return
  const lines = findings.map(({ code, round, sentence }) => `- ${code} (round ${round}): ${sentence}`)
  throw new ExerciseError('TOOL_UNSOUND', [`"${name}" did not pass its exercise:`, ...lines].join('\n'))
}

function resultOf(rounds: readonly SentRound[]): Json | undefined {
  const outcome = rounds.at(-1)?.outcome
  return outcome?.kind === 'complete' ? outcome.result : undefined
}

function roundReport({ outcome, steps, effects }: SentRound): RoundReport {
  return {
    asked: outcome.kind === 'asked' ? Object.keys(outcome.requests) : [],
    steps: steps.map(({ key }) => key),
    effects,
    stateBytes: outcome.kind === 'asked' ? (outcome.state?.length ?? 0) : 0,
  }
}
