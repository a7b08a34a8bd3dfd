/** The instructions of all servers as one text, which models read first. */
import { SEPARATOR } from './prefixes.ts'

export interface InstructedServer {
  readonly name: string
  /** The prefix of its names, if any. */
  readonly prefix: string | undefined
  readonly instructions: string | undefined
  /** The gateway's own sentence about the server. */
  readonly note?: string
}

// Together they would fill a model's context, so each server gets a share.
const MAX_TOTAL = 8000
const MAX_EACH = 1500

/** A paragraph for each server with instructions or a note, in order; undefined if there are none. */
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

/** Cuts a text after a whole word, to at most `max` characters. */
function cutWords(text: string, max: number): string {
  if (text.length <= max) return text
  const start = text.slice(0, max - 1)
  return `${start.replace(/\s+\S*$/, '').replace(/[\ud800-\udbff]$/, '')}…`
}
