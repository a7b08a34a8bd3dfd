/**
 * Calls, from the rounds that the processes of a gateway saw. Rounds belong together when one brought the state that another gave, or
 * both brought the same one (one process forwarded the round to the other), or one ran within the other.
 *
 * Request ids are counted by clients, so equal ones mean something for forwarded rounds alone.
 */
import type { RecordedRound } from '../../gateway/internal.ts'

export interface Round extends RecordedRound {
  /** The process, and the number of the round there. */
  readonly key: string
  readonly process: string
}

export interface Journey {
  /** The key of its first round. */
  readonly key: string
  readonly rounds: readonly Round[]
  readonly startedAt: number
  /** Undefined while it runs, or waits for an answer. */
  readonly endedAt: number | undefined
  readonly outcome: string
}

/** Clocks of processes differ by some milliseconds. */
const CLOCKS_MS = 50

/** Whether a process sent the round, or ran it for another one, while the round that the client sent was under way. */
export function isInner({ forwardedBy, within }: RecordedRound): boolean {
  return forwardedBy !== undefined || within !== undefined
}

export function journeysOf(items: ReadonlyMap<string, unknown>): Journey[] {
  const rounds = [...items].map(([key, item]) => ({
    ...(item as RecordedRound),
    key,
    process: key.slice(0, key.lastIndexOf('/')),
  }))
  rounds.sort((a, b) => a.startedAt - b.startedAt || (b.ms ?? Infinity) - (a.ms ?? Infinity))
  const groups = new Groups()
  const byKey = new Map(rounds.map((round) => [round.key, round]))
  const byState = new Map<string, Round>()
  const byRequest = new Map<string, Round[]>()
  for (const round of rounds) {
    for (const state of [round.brought, round.gave]) {
      if (state === undefined) continue
      const other = byState.get(state)
      if (other === undefined) byState.set(state, round)
      else groups.join(other, round)
    }
    const outer = round.within === undefined ? undefined : byKey.get(`${round.process}/${round.within}`)
    if (outer !== undefined) groups.join(outer, round)
    if (round.requestId === undefined) continue
    const request = JSON.stringify([round.server, round.name, round.method, round.requestId])
    const same = byRequest.get(request) ?? []
    const around = same.findLast((other) => isForwardedBy(round, other))
    if (around !== undefined) groups.join(around, round)
    byRequest.set(request, [...same.slice(-20), round])
  }
  return groups
    .of(rounds)
    .map(journeyOf)
    .toSorted((a, b) => b.startedAt - a.startedAt)
}

function isForwardedBy(round: Round, other: Round): boolean {
  if (round.forwardedBy !== other.process) return false
  return round.startedAt <= endOf(other) + CLOCKS_MS && endOf(round) <= endOf(other) + CLOCKS_MS
}

function endOf({ startedAt, ms }: Round): number {
  return ms === undefined ? Infinity : startedAt + ms
}

function journeyOf(rounds: readonly Round[]): Journey {
  const [first] = rounds as [Round, ...Round[]]
  const seen = rounds.filter((round) => !isInner(round))
  const last = (seen.length > 0 ? seen : rounds).toSorted((a, b) => endOf(a) - endOf(b)).at(-1) ?? first
  const outcome =
    last.ms === undefined ? 'running' : last.outcome === 'asked' ? 'waiting' : (last.outcome ?? 'complete')
  const isOver = outcome !== 'running' && outcome !== 'waiting'
  return { key: first.key, rounds, startedAt: first.startedAt, endedAt: isOver ? endOf(last) : undefined, outcome }
}

/** Sets of rounds that belong together. */
class Groups {
  readonly #parents = new Map<Round, Round>()

  join(a: Round, b: Round): void {
    const [rootA, rootB] = [this.#root(a), this.#root(b)]
    if (rootA !== rootB) this.#parents.set(rootB, rootA)
  }

  of(rounds: readonly Round[]): Round[][] {
    return [...Map.groupBy(rounds, (round) => this.#root(round)).values()]
  }

  #root(round: Round): Round {
    let root = round
    for (let parent = this.#parents.get(root); parent !== undefined; parent = this.#parents.get(root)) root = parent
    return root
  }
}
