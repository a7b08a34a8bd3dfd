/** Many calls of one tool by one kind of client, and what became of each. */
import { type Caller, kinds } from './clients.ts'
import type { Fleet, Trace } from './fleet.ts'

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

export interface Outcome {
  readonly tool: ToolName
  readonly client: 'v1' | 'v2'
  calls: number
  /** Ended as they should. */
  good: number
  /** Ended with an error that says that their instance is gone, which was killed. */
  lost: number
  /** Had no end within the time. */
  hung: number
  /** Had their effect more than once. */
  doubled: number
  /** Anything else: a wrong result, or an error although their instance was not killed. */
  wrong: number
  /** Of what went wrong, a few sentences. */
  readonly examples: string[]
}

export interface Plan {
  readonly calls: number
  /** How many calls are under way at once. */
  readonly atOnce: number
  readonly hungAfterMs: number
}

type End = { readonly kind: 'result'; readonly text: string } | { readonly kind: 'error'; readonly text: string }

export async function runScenario(
  fleet: Fleet,
  tool: ToolName,
  client: 'v1' | 'v2',
  { calls, atOnce, hungAfterMs }: Plan,
): Promise<Outcome> {
  const ends = new Map<string, End | 'hung'>()
  let next = 0
  const work = async (): Promise<void> => {
    let caller: Caller | undefined
    while (next < calls) {
      const call = `${tool}-${client}-${next++}`
      caller ??= await connect(fleet, client)
      const end = await endOf(caller, tool, call, hungAfterMs)
      ends.set(call, end)
      // A session whose calls failed is left, as a person would do; not one whose call was cancelled.
      if (end === 'hung' || (end.kind === 'error' && tool !== 'cancelled')) {
        await caller.close().catch(() => {})
        caller = undefined
      }
    }
    if (tool === 'cancelled') await allCancelled(fleet, ends) // closing a client would take back what it just sent
    await caller?.close().catch(() => {})
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return judge(fleet, tool, client, ends)
}

async function connect(fleet: Fleet, client: 'v1' | 'v2'): Promise<Caller> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await kinds[client](fleet.url)
    } catch (error) {
      if (attempt === 10) throw error
    }
  }
}

async function endOf(caller: Caller, tool: ToolName, call: string, hungAfterMs: number): Promise<End | 'hung'> {
  const abort = new AbortController()
  const isCancelled = tool === 'cancelled'
  const options = {
    timeout: hungAfterMs,
    signal: abort.signal,
    ...((isCancelled || tool === 'progress') && { onprogress: () => isCancelled && abort.abort('enough') }),
  }
  const calling = caller.call(tool, { call }, options).then(
    (result): End => ({ kind: 'result', text: JSON.stringify(result) }),
    (error: unknown): End => ({ kind: 'error', text: error instanceof Error ? error.message : String(error) }),
  )
  const end = await calling
  return end.kind === 'error' && /timed? ?out/i.test(end.text) ? 'hung' : end
}

function judge(fleet: Fleet, tool: ToolName, client: 'v1' | 'v2', ends: ReadonlyMap<string, End | 'hung'>): Outcome {
  const outcome: Outcome = {
    tool,
    client,
    calls: ends.size,
    good: 0,
    lost: 0,
    hung: 0,
    doubled: 0,
    wrong: 0,
    examples: [],
  }
  const traces = fleet.traces()
  for (const [call, end] of ends) {
    const trace = traces.get(call) ?? { began: [], done: 0, cancelled: 0 }
    const kind = kindOf(tool, end, trace, fleet.killed)
    outcome[kind]++
    if (kind !== 'good' && kind !== 'lost' && outcome.examples.length < 3)
      outcome.examples.push(
        `${call}: ${end === 'hung' ? 'no end' : end.text} (began ${trace.began.length}, done ${trace.done})`,
      )
  }
  return outcome
}

function kindOf(tool: ToolName, end: End | 'hung', trace: Trace, killed: ReadonlySet<number>) {
  if (trace.done > 1) return 'doubled'
  const ownerWasKilled = trace.began.some((pid) => killed.has(pid))
  if (trace.began.length === 0) return 'lost' // its request did not get as far as an instance
  if (tool === 'cancelled') return trace.cancelled === 1 || ownerWasKilled ? 'good' : 'wrong'
  if (end === 'hung') return 'hung'
  if (end.kind === 'result' && end.text.includes(tools[tool] ?? '')) return 'good'
  return ownerWasKilled ? 'lost' : 'wrong'
}

/** The handlers of cancelled calls notice a moment after their clients have left. */
async function allCancelled(fleet: Fleet, ends: ReadonlyMap<string, unknown>): Promise<void> {
  for (let waits = 0; waits < 100; waits++) {
    const traces = fleet.traces()
    if ([...ends.keys()].every((call) => (traces.get(call)?.cancelled ?? 0) > 0)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
