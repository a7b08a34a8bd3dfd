/** Compares what the checks found with what is expected of each client. */
import type { What } from './checks.ts'
import type { Era, Place } from './driver.ts'
import type { Leg, LegResult, Outcome } from './outcome.ts'

/**
 * `not offered`: the client has no such thing. `theirs`: it has, and does it against the specification. `ours`: the
 * server does.
 */
export type Whose = 'not offered' | 'theirs' | 'ours'

/** Something that does not work, and why. All else is expected to work. */
export interface Expectation {
  readonly client: string
  readonly whats: readonly What[]
  /** Everywhere, if not given. */
  readonly places?: readonly Place[]
  /** In both, if not given. */
  readonly eras?: readonly Era[]
  readonly whose: Whose
  /** A part of what the check sees. */
  readonly saw: string
  /** How we know, as a sentence. */
  readonly because: string
}

export type Cell =
  | { readonly kind: 'yes' }
  | { readonly kind: Whose; readonly because: string }
  | { readonly kind: 'unexpected'; readonly saw: string }

export interface JudgedLeg extends LegResult {
  /** One for each check, in their order. */
  readonly cells: readonly Cell[]
  /** Where it differs from what is expected, as sentences. */
  readonly differences: readonly string[]
}

export function judgeLeg(result: LegResult, expectations: readonly Expectation[]): JudgedLeg {
  const own = expectations.filter((one) => isAbout(one, result))
  const judged = result.outcomes.map((outcome) => judgeOutcome(outcome, own))
  const differences = judged.flatMap(({ difference }) => (difference === undefined ? [] : [difference]))
  const spoke = result.era !== undefined && result.spoke !== undefined && result.era !== result.spoke
  const wrongEra = spoke ? [`It was told to speak the ${result.era} era, and spoke the other one.`] : []
  const all = [...wrongEra, ...differences].map((text) => `${nameOf(result)}: ${text}`)
  return { ...result, cells: judged.map(({ cell }) => cell), differences: all }
}

export function nameOf({ client, place, era }: Leg): string {
  return [client, place, era].filter((part) => part !== undefined).join(' ')
}

function isAbout({ client, places, eras }: Expectation, leg: LegResult): boolean {
  const era = leg.era ?? leg.spoke
  const isItsEra = eras === undefined || (era !== undefined && eras.includes(era))
  return client === leg.client && (places?.includes(leg.place) ?? true) && isItsEra
}

function judgeOutcome(outcome: Outcome, own: readonly Expectation[]): { cell: Cell; difference?: string } {
  const expected = own.filter(({ whats }) => whats.includes(outcome.what))
  if (outcome.works) {
    const cell: Cell = { kind: 'yes' }
    return expected.length === 0 ? { cell } : { cell, difference: `${outcome.what} works, which was not expected.` }
  }
  const { what, saw } = outcome
  const reason = expected.find((one) => saw.includes(one.saw))
  if (reason !== undefined) return { cell: { kind: reason.whose, because: reason.because } }
  return { cell: { kind: 'unexpected', saw }, difference: `${what} does not work as expected. ${saw}` }
}
