/** The findings of an exercise, each with a sentence that says what to do. */
import type { OutcomeDifference } from './compare.ts'
import type { FindingCode } from './errors.ts'
import type { Answers, Flow } from './flow.ts'
import type { SentRound } from './harness.ts'
import { RUN_MS } from './taskRound.ts'
import { CODES, type Json } from '../protocol/index.ts'

/** A mistake that an exercise found. */
export interface Finding {
  readonly code: FindingCode
  /** The round in which it was found first, counted from 1. */
  readonly round: number
  readonly sentence: string
}

export class FindingList {
  readonly #found = new Map<string, Finding>()

  get list(): readonly Finding[] {
    return [...this.#found.values()]
  }

  /** Adds a finding, unless there is one with the same code and the same `about`. */
  add(code: FindingCode, round: number, about: string, sentence: string): void {
    const name = `${code} ${about}`
    if (!this.#found.has(name)) this.#found.set(name, { code, round, sentence })
  }

  effectsAfterEnd({ afterEnd }: SentRound, round: number): void {
    for (const name of afterEnd) {
      const why = 'a catch or finally block treated the end of the round as the end of the work'
      const advice = 'Catch only Declined and your own errors.'
      this.add(
        'EFFECT_AFTER_END',
        round,
        name,
        `The effect "${name}" ran after round ${round} had ended: ${why}. ${advice}`,
      )
    }
  }

  /** A client that cannot be asked is refused after what the handler has done once. */
  beforeAsking({ steps, outcome }: SentRound): void {
    if (outcome.kind !== 'refused' || outcome.code !== CODES.MISSING_CLIENT_CAPABILITY) return
    for (const { key } of steps.filter(({ kind }) => kind === 'once')) {
      const what = `The once "${key}" ran, and then the call failed, because its client cannot be asked`
      const advice = "Give the tool needs: ['elicitation'], or ask before it."
      this.add('EFFECT_BEFORE_ASKING', 1, key, `${what}: what it did stays done. ${advice}`)
    }
  }

  unawaited({ unawaited }: SentRound, round: number): void {
    for (const what of unawaited) {
      const advice = 'Put "await" before it; the lint rule no-floating-promises finds such places.'
      this.add(
        'NOT_AWAITED',
        round,
        what,
        `The handler did not wait for ${what} before it returned, in round ${round}. ${advice}`,
      )
    }
  }

  replayed({ unprotected, steps }: SentRound, round: number): void {
    for (const name of unprotected) {
      const what = `The effect "${name}" ran again in round ${round}, which brought no new answer`
      const advice = 'Put it in one of them: later rounds then take its result from the journal.'
      this.add('EFFECT_REPEATED', round, name, `${what}: it stands outside ctx.step and ctx.once. ${advice}`)
    }
    for (const { kind, key } of steps) {
      const what = `The ${kind} "${key}" ran in round ${round}, which brought no new answer`
      const why = 'its key is not the same in every round, or it failed in the round before'
      const advice = 'Make keys of what stays the same, such as arguments and answers.'
      this.add('STEP_REPEATED', round, kind, `${what}: ${why}. ${advice}`)
    }
  }

  sentTwice({ unprotected, steps, message, task }: SentRound, first: SentRound, round: number): void {
    const when =
      task === undefined
        ? `when round ${round} was sent twice, as after a lost response`
        : `in round ${round}, which was run again because its process ended before the outcome was stored`
    for (const name of unprotected) {
      const what = `The effect "${name}" ran twice ${when}`
      const advice = 'Put it in ctx.once where a repeat would hurt, in ctx.step where it would not.'
      this.add('EFFECT_REPEATED', round, name, `${what}: it stands outside ctx.step and ctx.once. ${advice}`)
    }
    // A first round that is sent twice is two calls with two ids. The ledger connects them only by an id of the caller.
    const isFirst = message.requestState === undefined
    for (const { kind, key } of steps) {
      const ranBefore = first.steps.some((step) => step.kind === 'once' && step.key === key)
      if (kind !== 'once' || !ranBefore) continue
      const what = `The once "${key}" ran twice when round ${round} was sent twice`
      const why = isFirst
        ? 'nothing connects the first request of a call with its repetition'
        : 'the instances share no ledger'
      const advice = isFirst
        ? 'Put it after the first question, or give it an id of the caller, such as an order number: ctx.once(key, fn, { id }).'
        : 'Spread the overrides into createServer last: { name, version, ...overrides }.'
      this.add('ONCE_REPEATED', round, key, `${what}: ${why}. ${advice}`)
    }
  }

  /** The plain call ended with `isError` and should not have, or the other way round. */
  unexpectedResult({ rounds }: Flow, expectError: boolean): void {
    const outcome = rounds.at(-1)?.outcome
    if (outcome?.kind !== 'complete') return
    const isError = outcome.result['isError'] === true
    if (isError === expectError) return
    const sentence = isError
      ? `The call ended with an error, ${textOf(outcome.result)}. If it should, pass { expectError: true }.`
      : 'The call succeeded, and the option expectError says that it ends with an error.'
    this.add('RESULT_UNEXPECTED', rounds.length, '', sentence)
  }

  /** An answer without its question would let a test pass whose tool no longer asks. */
  unusedAnswers({ rounds }: Flow, answers: Answers): void {
    const asked = rounds.flatMap(({ outcome }) => (outcome.kind === 'asked' ? Object.keys(outcome.requests) : []))
    for (const key of Object.keys(answers).filter((each) => !asked.includes(each))) {
      const what = asked.length === 0 ? 'it asked nothing' : `it asked ${asked.map((each) => `"${each}"`).join(', ')}`
      const advice = 'Take the answer out, or see why the tool did not come to its question.'
      this.add('ANSWER_UNUSED', rounds.length, key, `The call never asked "${key}"; ${what}. ${advice}`)
    }
  }

  /** A run of a task took too long. */
  silent(round: number): void {
    const what = `The task neither ended nor asked for ${RUN_MS / 1000} seconds`
    this.add('NEVER_ENDS', round, '', `${what}. Pass in what it waits for, so that a test can shorten it.`)
  }

  /** The same message, or the same call, gave something else. */
  different(difference: OutcomeDifference, round: number, when: string): void {
    switch (difference.what) {
      case 'question':
        return this.questionChanged(difference.key, round)
      case 'result': {
        const what = `The result differed ${when}`
        const advice =
          'Take random values and times from ctx.step, undo what earlier calls did in `reset`, or leave out what may differ with `normalize`.'
        return this.add('RESULT_CHANGED', round, '', `${what}. ${advice}`)
      }
      case 'outcome':
        return this.processDependent(round, when, difference)
      default:
        return difference satisfies never
    }
  }

  questionChanged(key: string, round: number): void {
    const what = `The question "${key}" of round ${round} had another text when it was asked again`
    const why = 'an answer counts only for the text it was given to, so a person may be asked for ever'
    const advice = 'Take random values, times and what only this process has from ctx.step.'
    this.add('QUESTION_CHANGED', round, key, `${what}: ${why}. ${advice}`)
  }

  processDependent(round: number, when: string, difference: OutcomeDifference): void {
    const [was, is] =
      difference.what === 'outcome' ? [difference.before, difference.after] : ['gave one thing', 'gave another']
    const what = `Round ${round} ${was}, and ${is} ${when}`
    const why = 'the tool relies on something that only one process remembers'
    const advice =
      'Keep it in ctx.step or in a database, and see that the server is made with { name, version, ...overrides }.'
    this.add('PROCESS_DEPENDENT', round, '', `${what}: ${why}. ${advice}`)
  }
}

/** The texts of a result, as the model reads them. */
function textOf({ content }: Json): string {
  const blocks = Array.isArray(content) ? (content as Json[]) : []
  return JSON.stringify(blocks.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n'))
}
