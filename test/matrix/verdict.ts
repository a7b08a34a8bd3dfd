/** Whether what became of a scenario is what was promised. */
import { type Behaviour, textOf } from './behaviours.ts'
import type { Heard, ToolResult } from './clients/client.ts'
import type { Effect } from './fleet/fleet.ts'
import type { Victim } from './scenario.ts'

export type CallEnd =
  | { readonly kind: 'result'; readonly result: ToolResult; readonly isRight: boolean }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'hung' }

/** What one caller got and heard, and what was done for it. */
export interface Outcome {
  readonly key: string
  readonly end: CallEnd
  readonly heard: Heard
  readonly effects: readonly Effect[]
}

/** What a caller may be told when a process was killed. */
const TOLD: readonly RegExp[] = [
  // Of the gateway: it may have happened.
  /may have happened|may have had effects/,
  // Of the gateway: it has not begun, or nothing was to be done.
  /cannot be reached|nothing listens there|is not there: .* tried again|Begin it anew|Call again/,
  // Of the gateway: what the client brought is of before, and it is to begin again.
  /There is no such session \(any more\); initialize again/,
  /There is no task with this id, or it has expired/,
  // Of the balancer, when the gateway that it had sent the request to ended before it answered.
  /50[23] by the balancer|answer(s|ed)( the probe with)? HTTP 50[23]/,
  // Of the client, whose connection broke off in the middle of an answer.
  /terminated|socket hang up|fetch failed|other side closed|connection (was )?(lost|closed)|stream (ended|disconnected|closed)/i,
]

/** What is wrong; nothing where all is well. */
export function violationsOf(behaviour: Behaviour, outcomes: readonly Outcome[], victim: Victim | undefined): string[] {
  return outcomes.flatMap((outcome, turn) => {
    const others = outcomes.filter((each) => each !== outcome).map(({ key }) => key)
    // A client that was killed is told nothing any more.
    const isGone = victim === 'client' && turn === 0
    return [
      ...crossed(outcome, others),
      ...repeated(behaviour, outcome),
      ...(isGone ? [] : ended(behaviour, outcome, victim)),
    ]
  })
}

function crossed({ key, end, heard }: Outcome, others: readonly string[]): string[] {
  const seen = JSON.stringify([end, heard.logs, heard.updated, heard.asked])
  return others.filter((other) => seen.includes(other)).map((other) => `${key} saw what belongs to ${other}: ${seen}`)
}

function repeated({ mayRepeat, tool }: Behaviour, { effects }: Outcome): string[] {
  if (mayRepeat) return []
  return ['began', 'done'].flatMap((what) => {
    const times = effects.filter((effect) => effect.what === what).length
    return times > 1 ? [`${tool} has ${what} ${times} times`] : []
  })
}

function ended({ isCancelled }: Behaviour, { key, end }: Outcome, victim: Victim | undefined): string[] {
  if (end.kind === 'hung') return [`${key} heard nothing`]
  if (end.kind === 'result' && end.isRight) return []
  if (end.kind === 'error' && isCancelled) return []
  const told = toldBy(end)
  if (told === undefined) return [`${key} got a wrong result: ${JSON.stringify(end)}`]
  const mayFail = victim !== undefined && victim !== 'client'
  if (!mayFail) return [`${key} heard an error: ${told}`]
  return TOLD.some((sentence) => sentence.test(told)) ? [] : [`${key} heard an error that says too little: ${told}`]
}

/** The sentence that a call ended with. */
export function toldBy(end: CallEnd): string | undefined {
  if (end.kind === 'error') return end.message
  return end.kind === 'result' && end.result.isError === true ? textOf(end.result) : undefined
}
