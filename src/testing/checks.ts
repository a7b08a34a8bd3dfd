/** The checks of an exercise. Each sends messages of its own and notes what it finds. */
import { rotationSteps } from '../state/seal/index.ts'
import { compare, describe } from './compare.ts'
import type { FindingList } from './findings.ts'
import { type Flow, type FlowOptions, playFlow } from './flow.ts'
import type { SentRound, Stage } from './harness.ts'

export interface CheckContext {
  readonly stage: Stage
  readonly findings: FindingList
  readonly flow: Pick<FlowOptions, 'answers' | 'maxRounds'>
  /** Whether the world is put back before each run, so that steps give the same again. */
  readonly resets: boolean
  readonly normalize: (result: Record<string, unknown>) => unknown
  /** Whether the call plays the same each time; where it does not, later checks compare only what kind of outcome there is. */
  readonly steady: boolean
}

/** The call plays the same the second time. */
export async function checkAgain(check: CheckContext, reference: Flow): Promise<{ steady: boolean }> {
  let steady = true
  const again = await playFlow(check.stage, { ...check.flow, instance: oneInstance(check.stage) })
  compareFlows(check, reference, again, (difference, round) => {
    steady = false
    check.findings.unlike(difference, round, 'when the same call was made again')
  })
  return { steady }
}

/** The call plays the same when no instance serves two of its rounds. */
export async function checkFresh(check: CheckContext, reference: Flow): Promise<Flow> {
  const fresh = await playFlow(check.stage, { ...check.flow, instance: () => check.stage.instance() })
  compareFlows(check, reference, fresh, (difference, round) =>
    check.findings.processDependent(round, 'on an instance that had not served the round before', difference),
  )
  return fresh
}

/** A round that brings no answers repeats nothing, and asks what was asked. */
export async function checkReplays(
  { stage, findings, normalize, steady }: CheckContext,
  { rounds }: Flow,
): Promise<void> {
  for (const [index, before] of rounds.entries()) {
    const { outcome } = before
    if (outcome.kind !== 'asked' || Object.keys(outcome.requests).length === 0) continue
    const message = { inputResponses: {}, ...(outcome.state !== undefined && { requestState: outcome.state }) }
    const replay = await stage.send(await stage.instance(), message)
    const round = index + 2
    if (outcome.state !== undefined) findings.replayed(replay, round)
    findings.late(replay, round)
    const difference = compare(outcome, replay.outcome, { loosely: !steady || ranSteps(replay), normalize })
    if (difference !== undefined) findings.unlike(difference, round - 1, 'when nothing had been answered yet')
  }
}

/** Every message stands for itself: later ones may have been served already. */
export async function checkBackwards(check: CheckContext, { rounds }: Flow): Promise<void> {
  const { stage, findings, normalize, steady } = check
  for (const [index, before] of [...rounds.entries()].toReversed()) {
    const after = await stage.send(await stage.instance(), before.message)
    const loosely = !steady || ranSteps(before, after)
    const difference = compare(before.outcome, after.outcome, { loosely, normalize })
    if (difference !== undefined)
      findings.processDependent(index + 1, 'when its message came again after the call had ended', difference)
  }
}

/** A round whose response was lost is sent again. */
export async function checkTwice(check: CheckContext): Promise<void> {
  const { stage, findings, normalize, steady } = check
  const { rounds, lost } = await playFlow(stage, { ...check.flow, instance: () => stage.instance(), twice: true })
  for (const [index, second] of rounds.entries()) {
    const first = lost[index] as SentRound
    findings.sentTwice(second, first, index + 1)
    const loosely = !steady || ranSteps(first, second)
    const difference = compare(first.outcome, second.outcome, { loosely, normalize })
    if (difference !== undefined) findings.unlike(difference, index + 1, 'when it was sent twice')
  }
}

/** Keys change hands while the call is under way: first the new one is spread, then it seals. */
export async function checkRotation(check: CheckContext, reference: Flow): Promise<void> {
  const { stage, flow, findings } = check
  const { spread, promote } = rotationSteps(stage.keys)
  const deployments = [
    [stage.keys, spread, promote],
    [spread, promote, spread],
  ]
  for (const keys of deployments) {
    const instance = (round: number) => stage.instance(keys[Math.min(round, keys.length) - 1])
    const rotated = await playFlow(stage, { ...flow, instance })
    const [was, is] = [lastOutcome(reference), lastOutcome(rotated)]
    if (was === is) continue
    const advice = 'See that makeServer gives createServer the keys of its overrides: { name, version, ...overrides }.'
    const what = `The call ${was}, and ${is} while keys were rotated`
    findings.add('ROTATION_LOST', rotated.rounds.length, '', `${what}. ${advice}`)
  }
}

export function oneInstance(stage: Stage): FlowOptions['instance'] {
  const made = stage.instance()
  return () => made
}

function compareFlows(
  { resets, normalize, steady }: CheckContext,
  one: Flow,
  other: Flow,
  tell: (difference: NonNullable<ReturnType<typeof compare>>, round: number) => void,
): void {
  let steps = false
  for (const [index, before] of one.rounds.entries()) {
    const after = other.rounds[index]
    if (after === undefined) return
    steps ||= ranSteps(before, after)
    const difference = compare(before.outcome, after.outcome, { loosely: !steady || (steps && !resets), normalize })
    if (difference !== undefined) return tell(difference, index + 1)
  }
}

function ranSteps(...sendings: readonly SentRound[]): boolean {
  return sendings.some(({ steps }) => steps.length > 0)
}

function lastOutcome({ rounds }: Flow): string {
  const last = rounds.at(-1)
  return last === undefined ? 'did not start' : describe(last.outcome)
}
