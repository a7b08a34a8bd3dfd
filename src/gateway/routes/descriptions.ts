/** The description of many servers for clients of a route: their instructions, and which are unavailable. */
import { ABSENT_META_KEY, type Json } from '../../protocol/index.ts'
import type { Backend } from '../backends/backend.ts'
import { whyAbsent } from '../backends/connector.ts'
import { type CatalogNames, nameBehindView, SEPARATOR, type View } from '../catalog/index.ts'
import { notThere } from '../errors.ts'

export interface InstructedServer {
  readonly name: string
  /** The prefix of its names, if any. */
  readonly prefix: string | undefined
  readonly instructions: string | undefined
}

// Together they would fill a model's context, so each server gets a share.
const MAX_TOTAL = 8000
const MAX_EACH = 1500

/** A paragraph for each server with instructions, in order; undefined if there are none. */
export function unionInstructions(servers: readonly InstructedServer[]): string | undefined {
  const speaking = servers
    .map((server) => ({ server, text: (server.instructions ?? '').replace(/\s+/g, ' ').trim() }))
    .filter(({ text }) => text !== '')
  if (speaking.length === 0) return undefined
  const room = Math.min(MAX_EACH, Math.floor(MAX_TOTAL / speaking.length))
  return speaking.map(({ server, text }) => paragraph(server, cutWords(text, room))).join('\n\n')
}

function paragraph({ name, prefix }: InstructedServer, text: string): string {
  return `${prefix === undefined ? name : `${name} (${prefix}${SEPARATOR}…)`}: ${text}`
}

/** Cuts a text after a whole word, to at most `max` characters. */
function cutWords(text: string, max: number): string {
  if (text.length <= max) return text
  const start = text.slice(0, max - 1)
  return `${start.replace(/\s+\S*$/, '').replace(/[\ud800-\udbff]$/, '')}…`
}

/** Maximum number of unavailable servers reported. */
const MAX_ABSENT = 100

/**
 * The `_meta` of lists, with the unavailable servers; undefined if all have been reached. Their tools are not listed,
 * so a client that knows one of their names learns here why it is missing.
 */
export function absentMeta(backends: readonly Backend[], names: CatalogNames, view?: View): Json | undefined {
  const absent: [start: string, sentence: string][] = []
  for (const { name, connector } of backends) {
    const { about, condition } = connector
    const why = about === undefined ? whyAbsent(condition) : undefined
    if (why === undefined) continue
    const prefix = names.prefix(name)
    if (prefix === undefined) continue
    const start = `${prefix}${SEPARATOR}`
    const isServed = view === undefined || nameBehindView(view, start) !== undefined
    if (isServed && absent.push([start, notThere(name, why).message]) === MAX_ABSENT) break
  }
  return absent.length === 0 ? undefined : { [ABSENT_META_KEY]: Object.fromEntries(absent) }
}
