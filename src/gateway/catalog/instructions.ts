/** The instructions of all servers as one text, which models read before they use anything. */
import { SEPARATOR } from './prefixIndex.ts'

export interface InstructedServer {
  readonly name: string
  /** What its names begin with; undefined for nothing. */
  readonly prefix: string | undefined
  readonly instructions: string | undefined
  /** A sentence of the gateway's own about the server. */
  readonly note?: string
}

// Together they would fill a model's context, so that each server has its share.
const MAX_TOTAL = 8000
const MAX_EACH = 1500

/** A paragraph for each server that says something, in their order; undefined where none does. */
export function unionInstructions(servers: readonly InstructedServer[]): string | undefined {
  const speaking = servers
    .map((server) => ({ server, text: (server.instructions ?? '').replace(/\s+/g, ' ').trim() }))
    .filter(({ server, text }) => text !== '' || server.note !== undefined)
  if (speaking.length === 0) return undefined
  const room = Math.min(MAX_EACH, Math.floor(MAX_TOTAL / speaking.length))
  return speaking.map(({ server, text }) => paragraph(server, cutWords(text, room))).join('\n\n')
}

function paragraph({ name, prefix, note }: InstructedServer, text: string): string {
  const names = prefix === undefined ? name : `${name} (${prefix}${SEPARATOR}…)`
  return `${names}: ${`${text} ${note ?? ''}`.trim()}`
}

/** At most `max` characters, ended after a whole word. */
function cutWords(text: string, max: number): string {
  if (text.length <= max) return text
  const start = text.slice(0, max - 1)
  return `${start.replace(/\s+\S*$/, '').replace(/[\ud800-\udbff]$/, '')}…`
}
