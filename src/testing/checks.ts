/** The checks of an exercise. Each sends its own messages and adds its findings. */
import { rotationSteps } from '../state/seal/index.ts'
import { compare, describe } from './compare.ts'
import type { FindingList } from './findings.ts'
import { type Flow, type FlowOptions, runFlow } from './flow.ts'
import type { SentRound, Harness } from './harness.ts'
import type { FindingCode } from './errors.ts'
import type { ExerciseCall } from './request.ts'

export interface ExerciseContext {
  readonly harness: Harness
  readonly findings: FindingList
  readonly flow: Pick<FlowOptions, 'answers' | 'maxRounds'>
  /** Whether there is a `reset` before each run, so that steps return the same in each run. */
  readonly resets: boolean
  readonly normalize: (result: Record<string, unknown>) => unknown
  /** Whether the call gives the same each time. If not, later checks compare only the kind of outcome. */
  readonly repeatable: boolean
}

/** Checks that the call gives the same when it is made a second time. */
export async function checkRepeatedCall(check: ExerciseContext, reference: Flow): Promise<{ repeatable: boolean }> {
  let repeatable = true
  const again = await runFlow(check.harness, { ...check.flow, instance: oneInstance(check.harness) })
  compareFlows(check, reference, again, (difference, round) => {
    repeatable = false
    check.findings.different(difference, round, 'when the same call was made again')
  })
  return { repeatable }
}

/** Checks that the call gives the same when each round runs on a new instance. */
export async function checkFreshInstances(check: ExerciseContext, reference: Flow): Promise<Flow> {
  const fresh = await runFlow(check.harness, { ...check.flow, instance: () => check.harness.instance() })
  compareFlows(check, reference, fresh, (difference, round) =>
    check.findings.processDependent(round, 'on an instance that had not served the round before', difference),
  )
  return fresh
}

/** Checks that a round without answers repeats no effect, and asks the same questions. */
export async function checkReplays(
  { harness, findings, normalize, repeatable }: ExerciseContext,
  { rounds }: Flow,
): Promise<void> {
  for (const [index, before] of rounds.entries()) {
    const { outcome } = before
    if (before.task !== undefined || outcome.kind !== 'asked' || Object.keys(outcome.requests).length === 0) continue
    const message = { inputResponses: {}, ...(outcome.state !== undefined && { requestState: outcome.state }) }
    const replay = await harness.send(await harness.instance(), message)
    const round = index + 2
    if (outcome.state !== undefined) findings.replayed(replay, round)
    findings.effectsAfterEnd(replay, round)
    const difference = compare(outcome, replay.outcome, { kindOnly: !repeatable || ranSteps(replay), normalize })
    if (difference !== undefined) findings.different(difference, round - 1, 'when nothing had been answered yet')
  }
}

/** Checks that each message gives the same when it is sent again after later ones. */
export async function checkOutOfOrder(check: ExerciseContext, { rounds }: Flow): Promise<void> {
  const { harness, findings, normalize, repeatable } = check
  for (const [index, before] of [...rounds.entries()].toReversed()) {
    if (before.task !== undefined) continue
    const after = await harness.send(await harness.instance(), before.message)
    const kindOnly = !repeatable || ranSteps(before, after)
    const difference = compare(before.outcome, after.outcome, { kindOnly, normalize })
    if (difference !== undefined)
      findings.processDependent(index + 1, 'when its message came again after the call had ended', difference)
  }
}

/** Checks that each message may be sent twice, as by a client that lost the first response. */
export async function checkDuplicates(check: ExerciseContext): Promise<void> {
  const { harness, findings, normalize, repeatable } = check
  const options = { ...check.flow, instance: () => harness.instance(), twice: true }
  const { rounds, lost, stuck } = await runFlow(harness, options)
  if (stuck === 'silent') findings.silent(rounds.length + 1)
  for (const [index, second] of rounds.entries()) {
    const first = lost[index] as SentRound
    findings.sentTwice(second, first, index + 1)
    const kindOnly = !repeatable || ranSteps(first, second)
    const difference = compare(first.outcome, second.outcome, { kindOnly, normalize })
    if (difference !== undefined) findings.different(difference, index + 1, 'when it was sent twice')
  }
}

/** Checks that a client that cannot be asked is refused before anything has happened. */
export async function checkUnaskable({ harness, findings }: ExerciseContext, { rounds }: Flow): Promise<void> {
  const [first] = rounds
  const isAtRisk = first?.outcome.kind === 'asked' && first.steps.some(({ kind }) => kind === 'once')
  if (!isAtRisk) return
  await harness.reset({ losesRuns: false })
  findings.beforeAsking(await harness.send(await harness.instance(), {}, { capabilities: {} }))
}

/** Checks that keys may be rotated during a call: instances first open with the new key, then seal with it. */
export async function checkRotation(check: ExerciseContext, reference: Flow): Promise<void> {
  const { harness, flow, findings } = check
  const { spread, promote } = rotationSteps(harness.keys)
  const deployments = [
    [harness.keys, spread, promote],
    [spread, promote, spread],
  ]
  for (const keys of deployments) {
    const instance = (round: number) => harness.instance(keys[Math.min(round, keys.length) - 1])
    const rotated = await runFlow(harness, { ...flow, instance })
    const [was, is] = [lastOutcome(reference), lastOutcome(rotated)]
    if (was === is) continue
    const advice = 'Let makeServer pass the keys of its overrides to createServer: { name, version, ...overrides }.'
    const what = `The call ${was}, and ${is} while keys were rotated`
    findings.add('ROTATION_LOST', rotated.rounds.length, '', `${what}. ${advice}`)
  }
}

export function oneInstance(harness: Harness): FlowOptions['instance'] {
  const made = harness.instance()
  return () => made
}

function compareFlows(
  { resets, normalize, repeatable }: ExerciseContext,
  one: Flow,
  other: Flow,
  report: (difference: NonNullable<ReturnType<typeof compare>>, round: number) => void,
): void {
  let steps = false
  for (const [index, before] of one.rounds.entries()) {
    const after = other.rounds[index]
    if (after === undefined) {
      if (other.stuck === 'silent')
        report({ what: 'outcome', before: describe(before.outcome), after: 'took too long' }, index + 1)
      return
    }
    steps ||= ranSteps(before, after)
    const difference = compare(before.outcome, after.outcome, {
      kindOnly: !repeatable || (steps && !resets),
      normalize,
    })
    if (difference !== undefined) return report(difference, index + 1)
  }
}

function ranSteps(...sendings: readonly SentRound[]): boolean {
  return sendings.some(({ steps }) => steps.length > 0)
}

function lastOutcome({ rounds }: Flow): string {
  const last = rounds.at(-1)
  return last === undefined ? 'did not start' : describe(last.outcome)
}

/** Checks that a task is unknown to another principal. */
export async function checkTaskOwner({ harness, findings }: ExerciseContext, { rounds }: Flow): Promise<void> {
  const round = rounds.findIndex(({ outcome }) => outcome.kind === 'task')
  const outcome = rounds[round]?.outcome
  if (outcome?.kind !== 'task') return
  const seen = await harness.request(await harness.instance(), 'tasks/get', { taskId: outcome.id }, 'other')
  if (seen.error !== undefined) return
  findings.add('PRINCIPAL_NOT_BOUND', round + 1, '', `The task was shown to another principal. ${SPREAD}`)
}

const SPREAD = 'Let makeServer spread its overrides into createServer last: { name, version, ...overrides }.'

/** Checks that a state is refused with other arguments, from another principal, after its expiry and when changed. */
export async function checkRefusals(check: ExerciseContext, { rounds }: Flow, variants: Variants): Promise<void> {
  for (const [index, sent] of rounds.entries()) {
    const { requestState } = sent.message
    if (requestState === undefined) continue
    const refuse = refusing(check, sent, index + 1)
    if (variants.changed !== undefined)
      await refuse('ARGUMENTS_NOT_BOUND', 'with changed arguments', { call: variants.changed })
    if (variants.hasOther) await refuse('PRINCIPAL_NOT_BOUND', 'by another principal', { asOther: true })
    await refuse('EXPIRY_IGNORED', 'after its time was over', { late: true })
    await refuse(
      'TAMPERING_ACCEPTED',
      'with a changed state',
      {},
      { ...sent.message, requestState: changed(requestState) },
    )
  }
}

export interface Variants {
  /** The call with other arguments; undefined if it has none to change. */
  readonly changed: ExerciseCall | undefined
  readonly hasOther: boolean
}

function refusing({ harness, findings, normalize }: ExerciseContext, sent: SentRound, round: number) {
  return async (
    code: FindingCode,
    how: string,
    options: Parameters<Harness['send']>[2],
    message = sent.message,
  ): Promise<void> => {
    const { outcome } = await harness.send(await harness.instance(), message, options)
    if (outcome.kind === 'refused') return
    // Arguments that fail the tool's schema are refused by a result with isError.
    const saysNo = outcome.kind === 'complete' && outcome.result['isError'] === true
    if (saysNo && compare(sent.outcome, outcome, { kindOnly: false, normalize }) !== undefined) return
    findings.add(code, round, '', `Round ${round} ${describe(outcome)} though its state was sent ${how}. ${SPREAD}`)
  }
}

/** Changes one character of each part of a state. */
function changed(state: string): string {
  return state
    .split('~')
    .map((part) => {
      const at = part.length >> 1
      return `${part.slice(0, at)}${part[at] === 'A' ? 'B' : 'A'}${part.slice(at + 1)}`
    })
    .join('~')
}
