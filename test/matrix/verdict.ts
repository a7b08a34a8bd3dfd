/** Whether what became of a scenario is what was promised. */
import { type Behaviour, textOf } from './behaviours.ts'
import type { Heard, ToolResult } from './clients/client.ts'
import type { ClientKind } from './clients/kinds.ts'
import type { Effect } from './fleet/effects.ts'
import type { Victim } from './scenario.ts'

export type CallEnd =
  | { readonly kind: 'result'; readonly result: ToolResult; readonly isRight: boolean }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'hung' }
  /** The client was killed before. */
  | { readonly kind: 'killed' }

/** What one caller got and heard, and what was done for it. */
export interface Outcome {
  readonly key: string
  readonly end: CallEnd
  readonly heard: Heard
  readonly effects: readonly Effect[]
  /** How long it took. */
  readonly ms: number
}

/** The gateway says that the call has not begun. */
const NOT_BEGUN = /cannot be reached|nothing listens there|is not there: .* tried again|Begin it anew|Call again/

/** What a gateway may tell a caller when something was killed. */
const BY_GATEWAY: readonly RegExp[] = [
  /may have happened|may have had effects/,
  NOT_BEGUN,
  // What the client brought is of before, and it is to begin again.
  /There is no such session \(any more\); initialize again/,
]

/** What a caller may be told where the gateway that had its request was killed, and can say nothing any more. */
const BY_OTHERS: readonly RegExp[] = [
  // The balancer had sent the request to that gateway.
  /50[23] by the balancer|answer(s|ed)( the probe with)? HTTP 50[23]/,
  // The client's connection broke off in the middle of an answer.
  /terminated|socket hang up|fetch failed|other side closed|connection (was )?(lost|closed|cut)|stream (ended|disconnected|closed)/i,
]

/** The client of the SDK v2 does not notice that a stream without events to go on from has ended: its own time limit does. */
const DEAF: ReadonlySet<ClientKind> = new Set(['v2 stateless'])
const BY_TIME = /Request timed out/

/** What was done, by which client, and what was killed meanwhile. */
export interface Circumstances {
  readonly behaviour: Behaviour
  readonly client: ClientKind
  readonly victim: Victim | undefined
}

/** What is wrong; nothing where all is well. */
export function violationsOf(outcomes: readonly Outcome[], circumstances: Circumstances): string[] {
  return outcomes.flatMap((outcome) => {
    const others = outcomes.filter((each) => each !== outcome).map(({ key }) => key)
    return [
      ...crossedOver(outcome, others),
      ...repeatsOf(circumstances.behaviour, outcome.effects),
      ...ended(outcome, circumstances),
    ]
  })
}

/** What belongs to others, and was seen. */
export function crossedOver({ key, end, heard }: Outcome, others: readonly string[]): string[] {
  const seen = JSON.stringify([end, heard.logs, heard.updated, heard.asked])
  return others.filter((other) => seen.includes(other)).map((other) => `${key} saw what belongs to ${other}: ${seen}`)
}

/** What was done more than once. */
export function repeatsOf({ mayRepeat, tool }: Behaviour, effects: readonly Effect[]): string[] {
  if (mayRepeat) return []
  return ['began', 'done'].flatMap((what) => {
    const times = effects.filter((effect) => effect.what === what).length
    return times > 1 ? [`${tool} has ${what} ${times} times`] : []
  })
}

function ended(outcome: Outcome, circumstances: Circumstances): string[] {
  const { key, end } = outcome
  const { behaviour, victim } = circumstances
  if (end.kind === 'killed') return []
  if (end.kind === 'hung') return [`${key} heard nothing`]
  if (end.kind === 'result' && end.isRight) return []
  if (end.kind === 'error' && behaviour.isCancelled) return []
  const told = toldBy(end)
  if (told === undefined) return [`${key} got a wrong result: ${JSON.stringify(end)}`]
  if (victim === undefined || victim === 'client') return [`${key} heard an error: ${told}`]
  if (!sentencesIn(circumstances).some((sentence) => sentence.test(told)))
    return [`${key} heard an error that says too little: ${told}`]
  return isUntrue(told, behaviour, outcome) ? [`${key} had begun, and heard: ${told}`] : []
}

/** What counts as told. */
function sentencesIn({ client, victim }: Circumstances): readonly RegExp[] {
  if (victim === 'server') return BY_GATEWAY
  return [...BY_GATEWAY, ...BY_OTHERS, ...(DEAF.has(client) ? [BY_TIME] : [])]
}

/** Whether a caller was told that a call of one request has not begun, and it has. */
function isUntrue(told: string, { isAsked }: Behaviour, { effects }: Outcome): boolean {
  const saysSo = NOT_BEGUN.test(told) && !/may have/.test(told)
  return saysSo && isAsked !== true && effects.some(({ what }) => what === 'began')
}

/** The sentence that a call ended with. */
export function toldBy(end: CallEnd): string | undefined {
  if (end.kind === 'error') return end.message
  return end.kind === 'result' && end.result.isError === true ? textOf(end.result) : undefined
}
