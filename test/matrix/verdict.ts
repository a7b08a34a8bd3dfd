/** Whether what became of a scenario is what was promised. */
import { type Behaviour, textOf } from './behaviours.ts'
import type { Heard, ToolResult } from './clients/client.ts'
import type { ClientKind } from './clients/kinds.ts'
import { type Fault, isDelivered, isOfNetwork } from './faults.ts'
import type { Effect } from './fleet/effects.ts'
import type { Passing } from './fleet/passing.ts'
import { KINDS, type ServerName } from './fleet/servers.ts'

export type CallEnd =
  | { readonly kind: 'result'; readonly result: ToolResult; readonly isRight: boolean }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'hung' }
  /** The client was killed before. */
  | { readonly kind: 'killed' }

/** What a caller got of one call and heard, and what was done for it. */
export interface Outcome {
  readonly caller: string
  readonly key: string
  readonly end: CallEnd
  readonly heard: Heard
  readonly effects: readonly Effect[]
  /** How long it took. */
  readonly ms: number
}

/** The gateway says that the call has not begun. */
const NOT_BEGUN = /cannot be reached|nothing listens there|is not there: .* tried again|Begin it anew|Call again/

/** What a gateway may tell a caller after a fault. */
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

/** What was done, by which client at which server, and which fault happened meanwhile. */
export interface Circumstances {
  readonly behaviour: Behaviour
  readonly client: ClientKind
  readonly server: ServerName
  readonly fault: Fault | undefined
  /** The message at which it happened. */
  readonly struck: Passing | undefined
}

/** What is wrong; nothing where all is well. */
export function violationsOf(outcomes: readonly Outcome[], circumstances: Circumstances): string[] {
  return outcomes.flatMap((outcome) => {
    const others = new Set(outcomes.map(({ caller }) => caller).filter((caller) => caller !== outcome.caller))
    return [
      ...crossedOver(outcome, others),
      ...repeatsOf(circumstances.behaviour, outcome),
      ...ended(outcome, circumstances),
    ]
  })
}

/** What belongs to others, and was seen. */
export function crossedOver({ key, end, heard }: Outcome, others: Iterable<string>): string[] {
  const seen = JSON.stringify([end, heard.logs, heard.updated, heard.asked])
  return [...others]
    .filter((other) => seen.includes(other))
    .map((other) => `${key} saw what belongs to ${other}: ${seen}`)
}

/** What was done more than once. */
export function repeatsOf(
  { mayRepeat, tool }: Behaviour,
  { key, effects }: Pick<Outcome, 'key' | 'effects'>,
): string[] {
  if (mayRepeat) return []
  return ['began', 'done'].flatMap((what) => {
    const times = effects.filter((effect) => effect.what === what).length
    return times > 1 ? [`${tool} of ${key} ${what} ${times} times`] : []
  })
}

function ended(outcome: Outcome, circumstances: Circumstances): string[] {
  const { key, end } = outcome
  const { behaviour } = circumstances
  if (end.kind === 'killed') return []
  if (end.kind === 'hung') return [`${key} heard nothing`]
  if (end.kind === 'result' && end.isRight) return []
  if (end.kind === 'error' && behaviour.isCancelled) return []
  const told = toldBy(end)
  if (told === undefined) return [`${key} got a wrong result: ${JSON.stringify(end)}`]
  if (mustSucceed(circumstances, outcome)) return [`${key} heard an error: ${told}`]
  if (!sentencesIn(circumstances).some((sentence) => sentence.test(told)))
    return [`${key} heard an error that says too little: ${told}`]
  return isUntrue(told, behaviour, outcome) ? [`${key} had begun, and heard: ${told}`] : []
}

/**
 * Whether nothing but the result will do. Who is stopped finishes what it has or hands it off; but programs of the official
 * SDK and on standard input and output end at once, and a task that a gateway holds for a server ends with that gateway.
 */
function mustSucceed({ behaviour, server, fault, struck }: Circumstances, { caller }: Outcome): boolean {
  if (fault === undefined || fault.victim === 'client') return true
  if (fault.kind === 'kill') return false
  if (isOfNetwork(fault)) return isOfOther(struck, caller) || isHarmless(fault, struck)
  const { isOurs, isProcess } = KINDS[server]
  return (isOurs && !isProcess) || (fault.victim !== 'server' && behaviour.needsTasks !== true)
}

/** A connection of one client is no concern of another. */
function isOfOther(struck: Passing | undefined, caller: string): boolean {
  return struck?.way === 'client ↔ gateway' && struck.caller !== caller
}

/**
 * What is delivered late or twice is delivered. But a gateway that gets no answer of another one for so long takes it for gone,
 * and of a round whose connection ends it cannot know that it will come again.
 */
function isHarmless(fault: Fault, struck: Passing | undefined): boolean {
  const isRound = fault.kind === 'twice' && struck?.body.includes('"tools/call"')
  return isDelivered(fault) && struck?.way !== 'gateway ↔ gateway' && !isRound
}

/** What counts as told. */
function sentencesIn({ client, fault, struck }: Circumstances): readonly RegExp[] {
  const isOfServer = fault && isOfNetwork(fault) ? struck?.way === 'gateway ↔ server' : fault?.victim === 'server'
  return isOfServer ? BY_GATEWAY : [...BY_GATEWAY, ...BY_OTHERS, ...(DEAF.has(client) ? [BY_TIME] : [])]
}

/** Whether a caller was told that a call has not begun, and it has. Of a task the caller knows that it has begun. */
function isUntrue(told: string, { needsTasks }: Behaviour, { effects }: Outcome): boolean {
  if (needsTasks) return false
  return NOT_BEGUN.test(told) && !/may have/.test(told) && effects.some(({ what }) => what === 'began')
}

/** The sentence that a call ended with. */
export function toldBy(end: CallEnd): string | undefined {
  if (end.kind === 'error') return end.message
  return end.kind === 'result' && end.result.isError === true ? textOf(end.result) : undefined
}
