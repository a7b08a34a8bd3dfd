/** Calls that run and calls that have ended lately, as the rounds that each process saw. */
import type { RecordedRound, RecentCalls } from '../../telemetry/recentCalls.ts'
import type { Json } from '../../../protocol/index.ts'
import type { ConsoleTopic } from './desk.ts'

/** Maximum number of rounds of a process that a page gets. */
const MAX_SHOWN = 400

/** Items: a round for each key. The query may name a `server`, and parts of a `tool` and a `caller`. */
export function callsTopic(recent: RecentCalls): ConsoleTopic {
  return {
    isOfEach: true,
    read: (query) => {
      const items: Record<string, Json> = {}
      let left = MAX_SHOWN
      for (const [id, round] of recent.rounds()) {
        if (!fits(round, query)) continue
        items[id] = { ...round }
        if (--left === 0) break
      }
      return items
    },
  }
}

function fits(round: RecordedRound, query: Readonly<Record<string, string>>): boolean {
  const { server = '', tool = '', caller = '' } = query
  return (
    (server === '' || round.server === server) && has(round.name, tool) && has(round.caller ?? round.client, caller)
  )
}

function has(text = '', part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase())
}
