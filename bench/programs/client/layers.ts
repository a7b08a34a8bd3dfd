/**
 * Clients that call an echo tool, one call after the other. All clients are in one process and take turns, because two
 * processes of the same program can differ by a quarter here and two clients in one process hardly do.
 */
import { type Limit, type Outcome, Tally } from '../../load/load.ts'
import { echoText } from '../../load/messages.ts'
import { median } from '../../measure/statistics.ts'
import { type ClientRole, type ClientSetup, readRole } from '../role.ts'
import { type AnyClient, openClient } from './clients.ts'
import { serveRequests } from '../ipc.ts'

const POOL = 1024
const texts = Array.from({ length: POOL }, (_, id) => echoText(id))
const role = readRole<ClientRole>()
const clients = new Map<ClientSetup, AnyClient[]>()

/** Returns the id of the server's process, where the client started one. */
async function open(setup: ClientSetup): Promise<number | undefined> {
  const client = await openClient(role, setup)
  clients.set(setup, [...(clients.get(setup) ?? []), client])
  const { pid } = client.transport as { pid?: number | null }
  return pid ?? undefined
}

/** The clients of one setup take turns, one in each call of this. */
async function callLoop({ setup, limit }: { setup: ClientSetup; limit: Limit }): Promise<Outcome> {
  const [client, ...others] = clients.get(setup) ?? []
  if (client === undefined) throw new Error(`No client was opened as ${setup}.`)
  clients.set(setup, [...others, client])
  const tally = new Tally(limit)
  const times: number[] = []
  for (let at = 0; tally.running; at = (at + 1) % POOL) {
    const text = texts[at] ?? ''
    const began = performance.now()
    const answer = await client.callTool({ name: 'echo', arguments: { text } })
    times.push(performance.now() - began)
    if (isEchoOf(text, answer)) tally.countRight()
    else tally.countWrong(JSON.stringify(answer).slice(0, 300))
  }
  return { ...tally.outcome(), medianMs: median(times) }
}

function isEchoOf(text: string, answer: unknown): boolean {
  const { content } = answer as { content?: { type?: unknown; text?: unknown }[] }
  return content?.length === 1 && content[0]?.type === 'text' && content[0].text === text
}

serveRequests({ open, call: callLoop })
