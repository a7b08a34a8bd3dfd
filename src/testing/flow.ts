/** Runs the call once, from its first message to its result, and answers its questions. */
import { isDeepStrictEqual } from 'node:util'
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Server } from '../server/index.ts'
import { ExerciseError } from './errors.ts'
import type { RoundMessage } from './request.ts'
import type { SentRound, Harness } from './harness.ts'
import { isElicitAction, isObject, type Json } from '../protocol/index.ts'

/** The number of rounds after which a call counts as endless by default. */
export const MAX_ROUNDS = 32

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

/**
 * The content of a form; the action of the user (`'accept'`, `'decline'`, `'cancel'`); a whole response, such as
 * `{ action: 'accept', content }` or a sampling result; or a function that returns one of these.
 */
export type Answer = 'accept' | 'decline' | 'cancel' | Json | ((request: InputRequest) => Answer)

/** The answer to each question, by its key. */
export type Answers = Readonly<Record<string, Answer>>

function answerAll(requests: Readonly<Record<string, InputRequest>>, answers: Answers): Record<string, Json> {
  return Object.fromEntries(Object.entries(requests).map(([key, request]) => [key, answerOne(key, request, answers)]))
}

/** Whether a function answers the question, which may answer differently when the question is asked again. */
function isFunctionAnswer(key: string, answers: Answers): boolean {
  return typeof answers[key] === 'function'
}

function answerOne(key: string, request: InputRequest, answers: Answers): Json {
  if (!Object.hasOwn(answers, key)) {
    throw new ExerciseError(
      'ANSWER_MISSING',
      `The question "${key}" was asked and has no answer; add it to the answers.`,
    )
  }
  return toResponse(request, answers[key] as Answer)
}

function toResponse(request: InputRequest, answer: Answer): Json {
  if (typeof answer === 'function') return toResponse(request, answer(request))
  if (typeof answer === 'string') return { action: answer }
  const isWhole = request.method !== 'elicitation/create' || (isObject(answer) && isElicitAction(answer['action']))
  return isWhole ? answer : { action: 'accept', content: answer }
}
