/**
 * A task as one client is shown it: with those of its open questions that this client can answer, and words for what
 * else the task waits for.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { declaresAll, neededCapability } from '../../protocol/index.ts'
import type { Call } from '../../server/index.ts'
import type { TaskRecord } from '../engine.ts'

export interface TaskView extends TaskRecord {
  /** What the task waits for beside the questions that are shown; undefined when that is all. */
  readonly awaits: string | undefined
}

export type Viewer = Pick<Call, 'peer' | 'principal'>

/** MRTR: a client is not sent what it has not declared. Such questions wait for a client that has. */
export function viewOf(task: TaskRecord, viewer: Viewer): TaskView {
  const shown = new Map<string, InputRequest>()
  const missing = new Set<string>()
  for (const [key, request] of task.questions) {
    const needed = neededCapability(request)
    if (declaresAll(viewer.peer.capabilities, needed)) shown.set(key, request)
    else for (const name of Object.keys(needed)) missing.add(name)
  }
  return { ...task, questions: shown, awaits: awaitedText(missing) }
}

function awaitedText(missing: ReadonlySet<string>): string | undefined {
  if (missing.size === 0) return undefined
  return `It waits for an answer from a client that declares: ${[...missing].join(', ')}.`
}
