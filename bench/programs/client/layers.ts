/**
 * Clients that call an echo tool, one call after the other. All outfits of a client are in one process and take turns:
 * two processes of the same program can differ by a quarter here, two clients in one process hardly do.
 */
import { type Limit, type Outcome, Tally } from '../../load/load.ts'
import { echoText } from '../../load/messages.ts'
import { median } from '../../measure/statistics.ts'
import { type Outfit, readClientRole } from './role.ts'
import { type AnyClient, openClient } from './clients.ts'
import { obey } from '../ipc.ts'

const POOL = 1024
const texts = Array.from({ length: POOL }, (_, id) => echoText(id))
const role = readClientRole()
const clients = new Map<Outfit, AnyClient[]>()

/** Gives the process of its server, where it started one. */
async function open(outfit: Outfit): Promise<number | undefined> {
  const client = await openClient(role, outfit)
  clients.set(outfit, [...(clients.get(outfit) ?? []), client])
  const { pid } = client.transport as { pid?: number | null }
  return pid ?? undefined
}

/** Where an outfit was opened more than once, the next one's turn. */
async function callLoop({ outfit, limit }: { outfit: Outfit; limit: Limit }): Promise<Outcome> {
  const [client, ...others] = clients.get(outfit) ?? []
  if (client === undefined) throw new Error(`No client was opened as ${outfit}.`)
  clients.set(outfit, [...others, client])
  const tally = new Tally(limit)
  const times: number[] = []
  for (let at = 0; tally.running; at = (at + 1) % POOL) {
    const text = texts[at] ?? ''
    const began = performance.now()
    const answer = await client.callTool({ name: 'echo', arguments: { text } })
    times.push(performance.now() - began)
    if (isEchoOf(text, answer)) tally.right()
    else tally.wrongAnswer(JSON.stringify(answer).slice(0, 300))
  }
  return { ...tally.outcome(), middleMs: median(times) }
}

function isEchoOf(text: string, answer: unknown): boolean {
  const { content } = answer as { content?: { type?: unknown; text?: unknown }[] }
  return content?.length === 1 && content[0]?.type === 'text' && content[0].text === text
}

obey({ open, call: callLoop })
