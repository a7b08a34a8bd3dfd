import type { ClientCapabilities } from '@modelcontextprotocol/client'
import type { Json } from '../protocol/index.ts'
import type { Answers } from './answers.ts'
import {
  type CheckContext,
  checkAgain,
  checkBackwards,
  checkFresh,
  checkReplays,
  checkRotation,
  checkTwice,
  oneInstance,
} from './checks.ts'
import { ExerciseError } from './errors.ts'
import { FindingList } from './findings.ts'
import { type Flow, playFlow } from './flow.ts'
import { checkRefusals, type Variants } from './refusals.ts'
import { type Report, reportOf } from './report.ts'
import { type ExerciseCall, nameOf } from './request.ts'
import { type MakeServer, type Principals, Stage } from './harness.ts'

export interface ExerciseOptions {
  /** Puts the world back before each run: empty tables, counters at zero. With it, results are compared in full even where steps ran. */
  reset?: () => void | Promise<void>
  /** Takes out of a result what may differ between two runs, such as a time. @default the result as it is */
  normalize?: (result: Record<string, unknown>) => unknown
  /** Who calls, and who else tries to go on with the call. @default nobody is told from anybody */
  principals?: Principals
  /** Other arguments that the tool would take too. @default the arguments and one member more */
  changedArguments?: Record<string, unknown>
  /** What the client says it can do. @default forms, pages, sampling with tools, and roots */
  capabilities?: ClientCapabilities
  /** Rounds after which a call is said never to end. @default 32 */
  maxRounds?: number
}

const EVERYTHING: ClientCapabilities = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} }

/**
 * Runs a call the hard way: every round on a fresh instance, every round sent twice, messages again and out of order,
 * keys rotated; and with changed arguments, by another principal, too late and tampered with, which must be refused. It
 * reports what does not hold, for `assertSound`.
 *
 * `makeServer` is a function because a fresh instance is the point: it is called for almost every message, and must
 * spread what it is given into `createServer` last. What lies outside of it (a module's variables, a database) outlives an
 * instance, as it does not outlive a process; to put that to the test as well, let it import the tool's module anew, as
 * `vi.resetModules()` and `import()` do.
 *
 * Side effects are seen through a `recorder()`. Effects in `ctx.step` may happen again when a response is lost, and are
 * not reported then; effects in neither `step` nor `once` are.
 */
export async function exercise(
  makeServer: MakeServer,
  call: ExerciseCall,
  answers: Answers = {},
  options: ExerciseOptions = {},
): Promise<Report> {
  const { capabilities = EVERYTHING, principals, reset, normalize = (result: Json) => result, maxRounds = 32 } = options
  const stage = new Stage({ makeServer, call, capabilities, principals, reset: reset ?? (() => {}) })
  const check = {
    stage,
    normalize,
    findings: new FindingList(),
    flow: { answers, maxRounds },
    resets: reset !== undefined,
    steady: true,
  }
  const reference = await playFlow(stage, { ...check.flow, instance: oneInstance(stage) })
  assertAccepted(call, reference)
  const changed = withChangedArguments(call, options.changedArguments)
  if (reference.stuck === undefined) await runChecks(check, reference, { changed, hasOther: principals !== undefined })
  else noteStuck(check, reference)
  for (const [index, round] of reference.rounds.entries()) check.findings.late(round, index + 1)
  return reportOf(nameOf(call), reference, check.findings.list)
}

async function runChecks(start: CheckContext, reference: Flow, variants: Variants): Promise<void> {
  const check = { ...start, ...(await checkAgain(start, reference)) }
  const fresh = await checkFresh(check, reference)
  await checkReplays(check, fresh)
  await checkBackwards(check, fresh)
  await checkRefusals(check, fresh, variants)
  await checkTwice(check)
  await checkRotation(check, reference)
}

function noteStuck({ findings, flow }: CheckContext, { stuck, rounds }: Flow): void {
  if (stuck === 'endless') {
    const sentence = `The call still asked for input after ${flow.maxRounds} rounds; let it come to an end, or raise maxRounds.`
    findings.add('NEVER_ENDS', rounds.length, '', sentence)
  } else if (stuck !== undefined) findings.questionChanged(stuck.changed, rounds.length)
}

function assertAccepted(call: ExerciseCall, { rounds }: Flow): void {
  const refused = rounds.map(({ outcome }) => outcome).find((outcome) => outcome.kind === 'refused')
  if (refused === undefined) return
  const why = `${refused.code}: ${refused.message}`
  throw new ExerciseError('CALL_REFUSED', `The server refused to run "${nameOf(call)}" even plainly, with ${why}`)
}

function withChangedArguments(call: ExerciseCall, given: Json | undefined): ExerciseCall | undefined {
  if ('resource' in call) return undefined
  const args = given ?? { ...call.arguments, exercise: 'changed' }
  return { ...call, arguments: args } as ExerciseCall
}
