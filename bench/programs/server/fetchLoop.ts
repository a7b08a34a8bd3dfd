import { setImmediate as nextTurn } from 'node:timers/promises'
import { type UncheckedResponse, isEcho } from '../../load/echoScript.ts'
import { type Limit, type Outcome, Tally } from '../../load/load.ts'
import { echoText, httpHeaders, MCP_PATH, toolCall } from '../../load/messages.ts'

type Fetch = (request: Request) => Promise<Response>

const IN_FLIGHT = 32
const POOL = 1024

const url = `http://127.0.0.1${MCP_PATH}`
const bodies = Array.from({ length: POOL }, (_, id) => toolCall(id, 'echo', { text: echoText(id) }))

/**
 * Calls a fetch handler in its own process, and reads and checks each `Response`. Calls are made in groups with a turn
 * of the event loop between them, as if they came from a socket.
 */
export async function fetchLoop(fetch: Fetch, limit: Limit): Promise<Outcome> {
  const tally = new Tally(limit)
  for (let first = 0; tally.running; first = (first + IN_FLIGHT) % POOL) {
    await Promise.all(Array.from({ length: IN_FLIGHT }, (_, offset) => callOnce(fetch, first + offset, tally)))
    await nextTurn()
  }
  return tally.outcome()
}

async function callOnce(fetch: Fetch, id: number, tally: Tally): Promise<void> {
  const body = bodies[id] ?? ''
  const response = await fetch(new Request(url, { method: 'POST', headers: httpHeaders('echo'), body }))
  const text = await response.text()
  const answer: UncheckedResponse = response.status === 200 ? JSON.parse(text) : {}
  if (isEcho(answer, id)) tally.countRight()
  else tally.countWrong(`${response.status} ${text.slice(0, 300)}`)
}
