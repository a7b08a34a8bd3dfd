/**
 * Members that nobody reads where they stand, although they look like ours: misspelt, or a setting in the wrong place. Other
 * programs have members of their own in the same file, so none of them is an error.
 */
import { type FieldPath, URL_FIELDS } from '../../client/internal.ts'
import { isObject, isOneTypo, type Json } from '../../protocol/index.ts'
import { BACKEND_SETTINGS } from './backendSettings.ts'
import { GATEWAY_SETTINGS } from './gatewaySettings.ts'

export interface UnreadMember {
  readonly path: FieldPath
  /** Follows the name of the member. */
  readonly sentence: string
}

const CONTAINERS = ['mcpServers', 'servers']
const STANDARD = ['command', 'args', 'env', 'envFile', 'cwd', ...URL_FIELDS, 'headers', 'type', 'disabled']
/** Words for the same that are no typing mistakes. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ['cmd', 'command'],
  ['arguments', 'args'],
  ['environment', 'env'],
])

const IN_ENTRY = 'is not read there; as a setting of the gateway it stands under "pannier" in the entry.'
const IN_GATEWAY = 'is not read there; as a setting of the gateway it stands under "gateway".'
const AT_TOP = 'is not read there; it stands at the top of the file.'
const IN_SERVER = 'is not read there; it stands in the entry of a server, and settings of all under "gateway".'
const NO_FLAG = 'is not read, because it is neither true nor false.'

/** In the entry of a server. */
export function unreadInEntry(entry: unknown): readonly UnreadMember[] {
  return isObject(entry) ? unreadIn(entry, entrySentence) : []
}

/** At the top of a file. */
export function unreadAtTop(root: Json): readonly UnreadMember[] {
  return unreadIn(root, topSentence)
}

function unreadIn(
  members: Json,
  sentenceOf: (name: string, value: unknown) => string | undefined,
): readonly UnreadMember[] {
  return Object.entries(members).flatMap(([name, value]) => {
    const sentence = sentenceOf(name, value)
    return sentence === undefined ? [] : [{ path: [name], sentence }]
  })
}

function entrySentence(name: string, value: unknown): string | undefined {
  if (name === 'disabled') return typeof value === 'boolean' ? undefined : NO_FLAG
  if (STANDARD.includes(name)) return undefined
  if (name === 'gateway') return AT_TOP
  // Copilot has a list of tools there.
  if (name === 'tools') return isObject(value) ? IN_ENTRY : undefined
  if (BACKEND_SETTINGS.includes(name)) return IN_ENTRY
  return misspelt(OTHER_WORDS.get(name) ?? STANDARD.find((known) => isOneTypo(name, known)))
}

function topSentence(name: string): string | undefined {
  if (CONTAINERS.includes(name)) return undefined
  if (name === 'pannier') return IN_SERVER
  if (GATEWAY_SETTINGS.includes(name)) return IN_GATEWAY
  return misspelt(CONTAINERS.find((known) => isOneTypo(name, known)))
}

function misspelt(known: string | undefined): string | undefined {
  return known === undefined ? undefined : `is not read; did you mean "${known}"?`
}
