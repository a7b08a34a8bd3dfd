/**
 * What became of a call through a gateway of others. Our own sentences are not asked of them: an error of any wording counts as
 * told. What does not depend on words counts as it does for ours: silence, wrong results, what was done twice or seen by another.
 */
import type { Behaviour } from '../behaviours.ts'
import type { Effect } from '../fleet/effects.ts'
import type { Victim } from '../faults.ts'
import type { Limits } from '../scenario.ts'
import { crossedOver, type Outcome, repeatsOf } from '../verdict.ts'

/** How calls end, in the order of the page. */
export const FATES = ['right', 'told', 'silent', 'bystander', 'wrong', 'doubled', 'crossed'] as const

/**
 * `right`: its result, all of it. `told`: an error. `silent`: nothing until the client's time limit. `bystander`: an error, though
 * only the other client was killed. `wrong`: a wrong result, something not heard, a tool that went on although its client had left.
 * `doubled`: done twice. `crossed`: the caller saw what belongs to the other.
 */
export type Fate = (typeof FATES)[number]

export interface Judged {
  readonly behaviour: Behaviour
  readonly victim: Victim | undefined
  readonly limits: Limits
  /** What was done for a caller until now. */
  readonly effectsOf: (key: string) => readonly Effect[]
}

/** Fates of all callers but one that was killed: one for how its call ended, and each other that it has beside it. */
export function fatesOf(outcomes: readonly Outcome[], judged: Judged): Fate[] {
  return outcomes.flatMap((outcome) => {
    const others = outcomes.map(({ caller }) => caller).filter((caller) => caller !== outcome.caller)
    const effects = judged.effectsOf(outcome.key)
    return [
      ...endOf(outcome, judged),
      ...(repeatsOf(judged.behaviour, { key: outcome.key, effects }).length > 0 ? (['doubled'] as const) : []),
      ...(crossedOver(outcome, others).length > 0 ? (['crossed'] as const) : []),
    ]
  })
}

function endOf(outcome: Outcome, judged: Judged): Fate[] {
  const { end } = outcome
  switch (end.kind) {
    case 'killed':
      return []
    case 'hung':
      return ['silent']
    case 'result':
      if (end.isRight) return ['right']
      return [end.result.isError === true ? told(judged) : 'wrong']
    case 'error':
      return [errorOf(outcome, end.message, judged)]
  }
}

function errorOf({ key, ms }: Outcome, message: string, judged: Judged): Fate {
  const { behaviour, victim, limits, effectsOf } = judged
  if (behaviour.isCancelled) {
    const hasHeard = effectsOf(key).some(({ what }) => what === 'cancelled')
    return hasHeard || victim !== undefined ? 'right' : 'wrong'
  }
  return ms >= limits.timeoutMs && /tim(ed|e) ?out/i.test(message) ? 'silent' : told(judged)
}

function told({ victim }: Judged): Fate {
  return victim === 'client' ? 'bystander' : 'told'
}
