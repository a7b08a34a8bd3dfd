/** Runs the call once, from its first message to its result, and answers its questions. */
import { isDeepStrictEqual } from 'node:util'
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Server } from '../server/index.ts'
import { ExerciseError } from './errors.ts'
import type { RoundMessage } from './request.ts'
import type { SentRound, Harness } from './harness.ts'
import { FollowedTask, notForApprover } from './taskRound.ts'
import { isElicitAction, isObject, type Json } from '../protocol/index.ts'

/** The number of rounds after which a call counts as endless by default. */
export const MAX_ROUNDS = 32

export interface FlowOptions {
  readonly answers: Answers
  readonly maxRounds: number
  /** The instance for a round, counted from 1. */
  readonly instance: (round: number) => Promise<Server>
  /** Sends every message twice, as a client does that lost the first response, and runs a task twice for each question. */
  readonly twice?: boolean
}

export interface Flow {
  readonly rounds: readonly SentRound[]
  /** With `twice`: the first message of each round, whose response counts as lost. */
  readonly lost: readonly SentRound[]
  /**
   * Why there is no result: an answered question came again with another text, there were too many rounds, or a run of a
   * task took too long.
   */
  readonly stuck?: { readonly changed: string } | 'endless' | 'silent'
}

export async function runFlow(harness: Harness, options: FlowOptions): Promise<Flow> {
  await harness.reset({ losesRuns: options.twice === true })
  const rounds: SentRound[] = []
  const lost: SentRound[] = []
  const asked = new Map<string, InputRequest>()
  let send: SendRound = sendCall(harness, options)
  let message: RoundMessage = {}
  for (let round = 1; round <= options.maxRounds; round++) {
    const sent = await send(message, round)
    if (sent === undefined) return { rounds, lost, stuck: 'silent' }
    rounds.push(sent.kept)
    if (sent.lost !== undefined) lost.push(sent.lost)
    const { outcome, refused } = sent.kept
    if (outcome.kind === 'task') {
      send = runTask(harness, options, outcome.id)
      message = {}
      continue
    }
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

/** Sends the messages of a round. Gives undefined when the round takes too long. */
type SendRound = (
  message: RoundMessage,
  round: number,
) => Promise<{ readonly kept: SentRound; readonly lost?: SentRound } | undefined>

function sendCall(harness: Harness, { instance, twice = false }: FlowOptions): SendRound {
  return async (message, round) => {
    const lost = twice ? await harness.send(await instance(round), message) : undefined
    const kept = await harness.send(await instance(round), message)
    const { outcome } = kept
    const keys = outcome.kind === 'asked' ? Object.keys(outcome.requests) : []
    const another = keys.find((key) => harness.answererOf(key) !== 'caller')
    if (another !== undefined) throw notForApprover(another)
    return { kept, ...(lost && { lost }) }
  }
}

/** A round of a task is one of its runs. With `twice`, the instance of the first run ends before its outcome is stored. */
function runTask(harness: Harness, { instance, twice = false }: FlowOptions, id: string): SendRound {
  const task = new FollowedTask(harness, id)
  return async ({ inputResponses }, round) => {
    let server = harness.tasks.latest // which has begun the first run
    if (inputResponses !== undefined) {
      server = await instance(round)
      await harness.tasks.keepOnly(server)
      await task.answer(server, inputResponses)
    }
    if (!twice) {
      const kept = await task.run(server)
      return kept && { kept }
    }
    const lost = await task.lostRun(server)
    if (lost === undefined) return undefined
    server = await instance(round)
    await harness.tasks.keepOnly(server)
    const kept = await task.run(server)
    return kept && { kept, lost: { ...kept, ...lost } }
  }
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

/** Whether a function answers the question. It may answer differently when the question is asked again. */
function isFunctionAnswer(key: string, answers: Answers): boolean {
  return typeof answers[key] === 'function'
}

/** The response to one question. */
export function answerOne(key: string, request: InputRequest, answers: Answers): Json {
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
