/** Runs the call once, from its first message to its result. */
import { isDeepStrictEqual } from 'node:util'
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Server } from '../server/index.ts'
import { type Answers, answerAll, isFunctionAnswer } from './answers.ts'
import { ExerciseError } from './errors.ts'
import type { RoundMessage } from './request.ts'
import type { SentRound, Harness } from './harness.ts'

export interface FlowOptions {
  readonly answers: Answers
  readonly maxRounds: number
  /** The instance for a round, counted from 1. */
  readonly instance: (round: number) => Promise<Server>
  /** Sends every message twice, as a client does that lost the first response. */
  readonly twice?: boolean
}

export interface Flow {
  readonly rounds: readonly SentRound[]
  /** With `twice`: the first message of each round, whose response counts as lost. */
  readonly lost: readonly SentRound[]
  /** Why there is no result: an answered question came again with another text, or there were too many rounds. */
  readonly stuck?: { readonly changed: string } | 'endless'
}

export async function runFlow(harness: Harness, options: FlowOptions): Promise<Flow> {
  await harness.reset()
  const rounds: SentRound[] = []
  const lost: SentRound[] = []
  const asked = new Map<string, InputRequest>()
  let message: RoundMessage = {}
  for (let round = 1; round <= options.maxRounds; round++) {
    if (options.twice === true) lost.push(await harness.send(await options.instance(round), message))
    const sending = await harness.send(await options.instance(round), message)
    rounds.push(sending)
    const { outcome, refused } = sending
    if (outcome.kind !== 'asked') return { rounds, lost }
    assertFit(refused, options.answers)
    const changed = findChanged(asked, outcome.requests, refused)
    if (changed !== undefined) return { rounds, lost, stuck: { changed } }
    message = {
      inputResponses: answerAll(outcome.requests, options.answers),
      ...(outcome.state !== undefined && { requestState: outcome.state }),
    }
  }
  return { rounds, lost, stuck: 'endless' }
}

/** An answer that is a function may fit the next time. */
function assertFit(refused: readonly string[], answers: Answers): void {
  const key = refused.find((name) => !isFunctionAnswer(name, answers))
  if (key !== undefined) throw unfit(key)
}

/** The key of a question that came again with another text, although its answer fitted. */
function findChanged(
  asked: Map<string, InputRequest>,
  requests: Readonly<Record<string, InputRequest>>,
  refused: readonly string[],
): string | undefined {
  for (const [key, request] of Object.entries(requests)) {
    const before = asked.get(key)
    if (!refused.includes(key)) asked.set(key, request)
    if (before !== undefined && !refused.includes(key) && !isDeepStrictEqual(before, request)) return key
  }
  return undefined
}

function unfit(key: string): ExerciseError {
  return new ExerciseError(
    'ANSWER_REFUSED',
    `The question "${key}" was asked again although it was answered; give an answer that fits its form.`,
  )
}
