/** What became of a call, judged by its end, by what the instances wrote of it, and by which of them were killed. */

/** What a call may end with, by tool. */
export const tools = {
  ask_twice: 'Ann Ann',
  sample: 'words',
  roots: 'file:///home',
  progress: 'reported',
  resumed: 'resumed',
  cancelled: undefined,
} as const

export type ToolName = keyof typeof tools

/** What the instances wrote of one call. */
export interface Trace {
  /** The processes that began it, in order. */
  readonly began: number[]
  done: number
  cancelled: number
}

export interface End {
  readonly kind: 'result' | 'error' | 'hung'
  readonly text: string
  /** Whether the client itself ended the call. */
  readonly isAborted: boolean
  /** When, by `performance.now()`. */
  readonly at: number
  /** What the client reported meanwhile. */
  readonly reports: readonly string[]
}

/** The processes that the balancer sent something to, in order. */
export interface Passed {
  readonly call: readonly number[]
  /** The notification that cancels the call. */
  readonly cancellation: readonly number[]
}

export interface Call {
  readonly tool: ToolName
  readonly end: End
  readonly trace: Trace | undefined
  readonly passed: Passed
  /** When each process was killed that was. */
  readonly killedAt: ReadonlyMap<number, number>
}

export type Kind = 'good' | 'lost' | 'hung' | 'doubled' | 'wrong'

export interface Outcome {
  readonly tool: ToolName
  readonly client: 'v1' | 'v2'
  readonly calls: number
  /** Ended as they should. */
  readonly good: number
  /** Ended with an error that says that their instance is gone, which was killed. */
  readonly lost: number
  /** Had no end within the time. */
  readonly hung: number
  /** Had their effect more than once. */
  readonly doubled: number
  /** Anything else: a wrong result, or an error although their instance was not killed. */
  readonly wrong: number
  /** Of what went wrong, a few sentences. */
  readonly examples: readonly string[]
}

// What the server says of a call whose instance is gone; and what a balancer says, or the client's own HTTP, of a request
// to an instance that was killed before it replied.
const SAYS_GONE = /is gone|502|terminated|fetch failed|socket/i

/**
 * Nothing excuses a call without an end or with two effects. An error is excused only by the death of the instance that
 * had the call, and a lost cancellation also by that of the instance that the client sent it to.
 */
export function kindOf({ tool, end, trace, passed, killedAt }: Call): Kind {
  const { began = [], done = 0, cancelled = 0 } = trace ?? {}
  if (done > 1 || cancelled > 1) return 'doubled'
  if (end.kind === 'hung') return 'hung'
  const owner = began.at(-1) ?? passed.call.at(-1)
  const ownerDied = owner !== undefined && (killedAt.get(owner) ?? Number.POSITIVE_INFINITY) <= end.at
  const saysSo = ownerDied && SAYS_GONE.test(end.text)
  if (end.kind === 'error' && !end.isAborted) return saysSo ? 'lost' : 'wrong'
  if (tool === 'cancelled') {
    if (cancelled === 1) return 'good'
    return [owner, ...passed.cancellation].some((pid) => pid !== undefined && killedAt.has(pid)) ? 'lost' : 'wrong'
  }
  return end.kind === 'result' && end.text.includes(tools[tool]) && done === 1 ? 'good' : 'wrong'
}

/** Whether every call ended, none twice, and none with an error that it need not have had. */
export function isSound({ hung, doubled, wrong }: Outcome): boolean {
  return hung + doubled + wrong === 0
}
