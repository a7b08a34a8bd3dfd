import type { ExerciseContext } from './checks.ts'
import { compare, describe } from './compare.ts'
import type { FindingCode } from './errors.ts'
import type { Flow } from './flow.ts'
import type { ExerciseCall } from './request.ts'
import type { SentRound, Harness } from './harness.ts'

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
  /** The call with other arguments; undefined where there are none to change. */
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
    const advice = 'Let makeServer spread its overrides into createServer last: { name, version, ...overrides }.'
    findings.add(code, round, '', `Round ${round} ${describe(outcome)} though its state was sent ${how}. ${advice}`)
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
