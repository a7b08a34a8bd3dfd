import type { ClientCapabilities } from '@modelcontextprotocol/client'
import { assertOptionNames, type Json, type OptionNames, TASKS_EXTENSION } from '../protocol/index.ts'
import { type Answers, type Flow, runFlow, MAX_ROUNDS } from './flow.ts'
import {
  type ExerciseContext,
  checkRepeatedCall,
  checkOutOfOrder,
  checkFreshInstances,
  checkReplays,
  checkRotation,
  checkDuplicates,
  oneInstance,
  checkRefusals,
  checkTaskOwner,
  checkUnaskable,
  type Variants,
} from './checks.ts'
import { ExerciseError } from './errors.ts'
import { FindingList, type Finding } from './findings.ts'
import { EVERYTHING, type ExerciseCall, nameOf } from './request.ts'
import { type MakeServer, type Principals, Harness, type SentRound } from './harness.ts'

export interface ExerciseOptions {
  /** Resets databases and counters before each run. With it, results are compared in full even if steps ran. */
  reset?: () => void | Promise<void>
  /** Removes the parts of a result that may differ between two runs, such as a time. @default removes nothing */
  normalize?: (result: Record<string, unknown>) => unknown
  /** The caller, and another principal who tries to continue the call. @default no principals */
  principals?: Principals
  /** Other arguments that the tool accepts, too. @default the arguments with one more member */
  changedArguments?: Record<string, unknown>
  /** The capabilities that the client declares. @default forms, URLs, sampling with tools, and roots */
  capabilities?: ClientCapabilities
  /** Whether the client takes tasks. The overrides of `makeServer` then have a store for them. @default false */
  tasks?: boolean
  /** Whether the call is to end with `isError`, as after a refusal. @default false */
  expectError?: boolean
  /** The number of rounds after which NEVER_ENDS is reported. @default 32 */
  maxRounds?: number
}

const EXERCISE_OPTIONS: OptionNames<ExerciseOptions> = {
  reset: true,
  normalize: true,
  principals: true,
  changedArguments: true,
  capabilities: true,
  tasks: true,
  expectError: true,
  maxRounds: true,
}

/**
 * Runs a call under difficult conditions: every round on a new instance, every round sent twice, messages repeated and
 * out of order, keys rotated. It also sends states that the server must refuse: with changed arguments, from another
 * principal, expired, or tampered with. The report, for `assertSound`, lists the failed checks.
 *
 * `makeServer` is called for almost every message, because each needs a new instance. It must spread its argument into
 * `createServer` last. Variables of a module outlive an instance, although they do not outlive a process. To test that
 * as well, let `makeServer` import the tool's module again, with `vi.resetModules()` and `import()`.
 *
 * Side effects are recorded by a `recorder()`. An effect in `ctx.step` may happen again when a response is lost, and is
 * not reported then; an effect outside `step` and `once` is.
 */
export async function exercise(
  makeServer: MakeServer,
  call: ExerciseCall,
  answers: Answers = {},
  options: ExerciseOptions = {},
): Promise<Report> {
  if (typeof makeServer !== 'function')
    throw new TypeError('exercise(makeServer, call, answers): makeServer is a function that creates a server.')
  assertOptionNames(options, EXERCISE_OPTIONS, 'exercise')
  const check = contextOf(makeServer, call, answers, options)
  const { harness, findings, flow } = check
  try {
    const reference = await runFlow(harness, { ...flow, instance: oneInstance(harness) })
    assertAccepted(call, reference)
    const changed = withChangedArguments(call, options.changedArguments)
    if (reference.stuck === undefined) {
      findings.unexpectedResult(reference, options.expectError ?? false)
      findings.unusedAnswers(reference, answers)
      await runChecks(check, reference, { changed, hasOther: options.principals !== undefined })
    } else noteStuck(check, reference)
    for (const [index, round] of reference.rounds.entries()) {
      findings.effectsAfterEnd(round, index + 1)
      findings.unawaited(round, index + 1)
    }
    return reportOf(nameOf(call), reference, findings.list)
  } finally {
    await harness.close()
  }
}

function contextOf(
  makeServer: MakeServer,
  call: ExerciseCall,
  answers: Answers,
  options: ExerciseOptions,
): ExerciseContext {
  const { principals, tasks = false, reset = () => {}, normalize = (result: Json) => result } = options
  const capabilities = capabilitiesOf(options)
  return {
    harness: new Harness({ makeServer, call, capabilities, principals, takesTasks: tasks, reset }),
    normalize,
    findings: new FindingList(),
    flow: { answers, maxRounds: options.maxRounds ?? MAX_ROUNDS },
    resets: options.reset !== undefined,
    repeatable: true,
  }
}

function capabilitiesOf({ capabilities = EVERYTHING, tasks = false }: ExerciseOptions): ClientCapabilities {
  if (!tasks) return capabilities
  return { ...capabilities, extensions: { ...capabilities.extensions, [TASKS_EXTENSION]: {} } }
}

async function runChecks(start: ExerciseContext, reference: Flow, variants: Variants): Promise<void> {
  const check = { ...start, ...(await checkRepeatedCall(start, reference)) }
  const fresh = await checkFreshInstances(check, reference)
  await checkReplays(check, fresh)
  await checkOutOfOrder(check, fresh)
  await checkRefusals(check, fresh, variants)
  if (variants.hasOther) await checkTaskOwner(check, fresh)
  await checkUnaskable(check, fresh)
  await checkDuplicates(check)
  await checkRotation(check, reference)
}

function noteStuck({ findings, flow }: ExerciseContext, { stuck, rounds }: Flow): void {
  if (stuck === 'endless') {
    const what = `The call still asked for input after ${flow.maxRounds} rounds`
    findings.add('NEVER_ENDS', rounds.length, '', `${what}; let it end earlier, or raise maxRounds.`)
  } else if (stuck === 'silent') {
    findings.silent(rounds.length + 1)
  } else if (stuck !== undefined) findings.questionChanged(stuck.changed, rounds.length)
}

function assertAccepted(call: ExerciseCall, { rounds }: Flow): void {
  const refused = rounds.map(({ outcome }) => outcome).find((outcome) => outcome.kind === 'refused')
  if (refused === undefined) return
  const why = `${refused.code}: ${refused.message}`
  throw new ExerciseError('CALL_REFUSED', `The server refused the plain call of "${nameOf(call)}", with ${why}`)
}

function withChangedArguments(call: ExerciseCall, given: Json | undefined): ExerciseCall | undefined {
  if ('resource' in call) return undefined
  const args = given ?? { ...call.arguments, exercise: 'changed' }
  return { ...call, arguments: args } as ExerciseCall
}

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

/** One round of an exercised call. */
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

function reportOf(name: string, { rounds }: Flow, findings: readonly Finding[]): Report {
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
