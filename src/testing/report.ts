import type { Json } from '../protocol/index.ts'
import { ExerciseError } from './errors.ts'
import type { Finding } from './findings.ts'
import type { Flow } from './flow.ts'
import type { SentRound } from './harness.ts'

/** What an exercise came to. */
export interface Report {
  /** What was called. */
  readonly name: string
  /** Nothing was found. */
  readonly ok: boolean
  /** What the call gave when it was run plainly; undefined when it came to no end. */
  readonly result: Readonly<Record<string, unknown>> | undefined
  /** Its rounds when it was run plainly. */
  readonly rounds: readonly RoundReport[]
  readonly findings: readonly Finding[]
}

export interface RoundReport {
  /** The keys of what was asked. */
  readonly asked: readonly string[]
  /** The keys of the steps that ran. */
  readonly steps: readonly string[]
  /** The names of the effects that were recorded. */
  readonly effects: readonly string[]
  /** The size of the state that goes with the client. */
  readonly stateBytes: number
}

export function reportOf(name: string, { rounds }: Flow, findings: readonly Finding[]): Report {
  return { name, ok: findings.length === 0, result: resultOf(rounds), rounds: rounds.map(roundReport), findings }
}

/** Throws one readable error when something was found. */
export function assertSound({ name, ok, findings }: Report): void {
  if (ok) return
  const lines = findings.map(({ code, round, sentence }) => `- ${code} (round ${round}): ${sentence}`)
  throw new ExerciseError('TOOL_UNSOUND', [`"${name}" does not stand up to exercise:`, ...lines].join('\n'))
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
