/** Clients that come and go at an even rate: each connects as someone, calls one tool in one way, and leaves in one way. */
import { setTimeout as sleep } from 'node:timers/promises'
import { call, post } from '../fixtures/modernClient.ts'
import { type Behaviour, BEHAVIOURS, type Caller, perform } from '../matrix/behaviours.ts'
import { type Cell, POSSIBLE_CELLS } from '../matrix/cells.ts'
import { Heard, type MatrixClient } from '../matrix/clients/client.ts'
import { connectClient } from '../matrix/clients/kinds.ts'
import { BEHIND, type SoakFleet } from './fleet.ts'

/** `left`: in the middle, on purpose. */
export interface Counts {
  good: number
  left: number
  wrong: number
  /** The first few that went wrong. */
  readonly examples: string[]
}

/** Each visit lists all pages, which have the resources of all servers. */
const CELLS = POSSIBLE_CELLS.filter(
  ({ server, behaviour }) => BEHIND.some((name) => name === server) && behaviour !== 'pagination',
)
/** Callers who come back again and again; every second visit is by somebody new. */
const REGULARS = 20
const FETCH_SHARE = 0.2
const LEAVES_SHARE = 0.25
const LEAVES_WITHIN_MS = 400
const VISIT_MS = 30_000
const EXAMPLES = 20
/** Visits under way beyond this number mean that the gateway no longer keeps up. */
const AT_ONCE = 200

/** Makes visits until the signal aborts; resolves when the last one is over. */
export async function visit(fleet: SoakFleet, perSecond: number, signal: AbortSignal): Promise<Counts> {
  const counts: Counts = { good: 0, left: 0, wrong: 0, examples: [] }
  const underWay = new Set<Promise<void>>()
  for (let turn = 0; !signal.aborted; turn++) {
    if (underWay.size < AT_ONCE) {
      const ended: Promise<void> = visitOnce(fleet, turn, counts).finally(() => underWay.delete(ended))
      underWay.add(ended)
    }
    await sleep(1000 / perSecond)
  }
  await Promise.all(underWay)
  return counts
}

async function visitOnce(fleet: SoakFleet, turn: number, counts: Counts): Promise<void> {
  const cell = pick(CELLS)
  const principal = turn % 2 === 0 ? `regular-${turn % REGULARS}` : `new-${turn}`
  const leaving = new AbortController()
  const isLeaving = BEHAVIOURS[cell.behaviour]?.isCancelled || Math.random() < LEAVES_SHARE
  const timer = isLeaving ? setTimeout(() => leaving.abort(), Math.random() * LEAVES_WITHIN_MS) : undefined
  try {
    const isByFetch = Math.random() < FETCH_SHARE
    const token = await fleet.token(principal)
    const guest: Guest = { fleet, cell, key: `${principal}-${turn}`, token, signal: leaving.signal }
    const isRight = await (isByFetch ? visitByFetch(guest) : visitByClient(guest))
    if (isRight) counts.good++
    else noteWrong(counts, cell, 'the result is wrong')
  } catch (error) {
    if (isLeaving) counts.left++
    else noteWrong(counts, cell, error instanceof Error ? error.message : String(error))
  } finally {
    clearTimeout(timer)
  }
}

/** One who visits. */
interface Guest {
  readonly fleet: SoakFleet
  readonly cell: Cell
  readonly key: string
  readonly token: string
  /** Aborts when they leave in the middle. */
  readonly signal: AbortSignal
}

async function visitByClient({ fleet, cell, key, token, signal }: Guest): Promise<boolean> {
  const behaviour = BEHAVIOURS[cell.behaviour]
  if (behaviour === undefined) throw new Error(`There is no behaviour "${cell.behaviour}".`)
  const heard = new Heard()
  const endsSession = Math.random() < 0.5
  const takesTasks = behaviour.needsTasks
  const client = await connectClient(cell.client, { url: fleet.url, name: key, heard, token, endsSession, takesTasks })
  try {
    const caller: Caller = {
      key,
      client,
      heard,
      options: { signal, timeout: VISIT_MS },
      toolName: (tool) => `${cell.server}_${tool}`,
      plainUri: (uri) => uri,
      isDisturbed: () => true, // changes that other visitors make are heard as well
    }
    return await unlessLeft(signal, listAndCall(behaviour, caller))
  } finally {
    await closeSoon(client)
  }
}

async function listAndCall(behaviour: Behaviour, caller: Caller): Promise<boolean> {
  await caller.client.resources()
  return behaviour.isRight(await perform(behaviour, caller), caller)
}

/** A client whose server is slow to end its session is closed in the background. */
async function closeSoon(client: MatrixClient): Promise<void> {
  await Promise.race([client.close(), sleep(1000)])
}

/** By plain requests: a refused token, a list, and a call whose question is never answered. */
async function visitByFetch({ fleet, cell, key, token, signal }: Guest): Promise<boolean> {
  const { url } = fleet
  const headers = { authorization: `Bearer ${token}` }
  const refused = await post(url, { method: 'tools/list', headers: { authorization: `Bearer ${token}x` }, signal })
  const listed = await post(url, { method: 'tools/list', headers, signal })
  const asked = await call(url, `${cell.server}_one`, { key }, { headers, signal })
  return (
    refused.status === 401 && listed.message.result.tools.length > 0 && 'inputRequests' in (asked.message.result ?? {})
  )
}

function unlessLeft<T>(signal: AbortSignal, ended: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('The visitor left.')), { once: true })
    ended.then(resolve, reject)
  })
}

function noteWrong(counts: Counts, { client, server, behaviour }: Cell, why: string): void {
  counts.wrong++
  if (counts.examples.length < EXAMPLES) counts.examples.push(`${client} → ${server}, ${behaviour}: ${why}`)
}

function pick<T>(from: readonly T[]): T {
  return from[Math.floor(Math.random() * from.length)] as T
}
