/** Many calls of one tool by one kind of client, and what became of each. */
import { type Caller, kinds } from './clients.ts'
import type { Fleet } from './fleet.ts'
import { type Call, type End, kindOf, type Outcome, type ToolName } from './verdict.ts'

export interface Plan {
  /** So many at least. */
  readonly calls: number
  /** Until then there are more. @default at once */
  readonly isOver?: () => boolean
  /** How many calls are under way at once. */
  readonly atOnce: number
  readonly hungAfterMs: number
}

const MAX_EXAMPLES = 3

export async function runScenario(
  fleet: Fleet,
  tool: ToolName,
  client: 'v1' | 'v2',
  { calls, isOver = () => true, atOnce, hungAfterMs }: Plan,
): Promise<Outcome> {
  const ends = new Map<string, End>()
  let next = 0
  const work = async (): Promise<void> => {
    let caller: Caller | undefined
    while (next < calls || !isOver()) {
      const call = `${tool}-${client}-${next++}`
      caller ??= await connect(fleet, client)
      const end = await endOf(caller, tool, call, hungAfterMs)
      ends.set(call, end)
      // A session whose calls failed is left, as a person would do; not one whose call was cancelled.
      if (end.kind === 'hung' || (end.kind === 'error' && tool !== 'cancelled')) {
        await caller.close().catch(() => {})
        caller = undefined
      }
    }
    if (tool === 'cancelled') await allCancelled(fleet, client, ends) // closing a client would take back what it just sent
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

async function endOf(caller: Caller, tool: ToolName, call: string, hungAfterMs: number): Promise<End> {
  const abort = new AbortController()
  const isCancelled = tool === 'cancelled'
  const options = {
    timeout: hungAfterMs,
    signal: abort.signal,
    ...((isCancelled || tool === 'progress') && { onprogress: () => isCancelled && abort.abort('enough') }),
  }
  const reported = caller.reports.length
  const end = await caller.call(tool, { call }, options).then(
    (result) => ({ kind: 'result' as const, text: JSON.stringify(result) }),
    (error: unknown) => {
      const text = error instanceof Error ? error.message : String(error)
      return { kind: /timed? ?out/i.test(text) ? ('hung' as const) : ('error' as const), text }
    },
  )
  return { ...end, isAborted: abort.signal.aborted, at: performance.now(), reports: caller.reports.slice(reported) }
}

function judge(fleet: Fleet, tool: ToolName, client: 'v1' | 'v2', ends: ReadonlyMap<string, End>): Outcome {
  const counts = { good: 0, lost: 0, hung: 0, doubled: 0, wrong: 0 }
  const examples: string[] = []
  const traces = fleet.traces()
  for (const [name, end] of ends) {
    const call: Call = { tool, end, trace: traces.get(name), passed: fleet.passed(name), killedAt: fleet.killedAt }
    const kind = kindOf(call)
    counts[kind]++
    if (kind !== 'good' && kind !== 'lost' && examples.length < MAX_EXAMPLES) examples.push(describe(name, call))
  }
  return { tool, client, calls: ends.size, ...counts, examples }
}

function describe(name: string, { end, trace, passed, killedAt }: Call): string {
  const list = (processes: readonly number[]): string =>
    processes.map((pid) => (killedAt.has(pid) ? `${pid} (killed)` : pid)).join(', ') || 'none'
  const story = [
    `${name}: ${end.text}`,
    `sent to ${list(passed.call)}, cancelled at ${list(passed.cancellation)}, began at ${list(trace?.began ?? [])}`,
    `done ${trace?.done ?? 0}, noticed its cancellation ${trace?.cancelled ?? 0}`,
    ...end.reports.slice(-12),
  ]
  return story.join(' | ')
}

/** The handlers of cancelled calls notice a moment after their clients have left. */
async function allCancelled(fleet: Fleet, client: 'v1' | 'v2', ends: ReadonlyMap<string, End>): Promise<void> {
  for (let waits = 0; waits < 100; waits++) {
    if (judge(fleet, 'cancelled', client, ends).wrong === 0) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
