/**
 * Members of the file that are not read where they stand although they look like ours: misspelt, or in the wrong place.
 * Other programs have their own members in the same file, so none of them is an error. The same for variables.
 */
import { type FieldPath, URL_FIELDS, type Env } from '../../client/internal.ts'
import { isObject, isOneTypo, type Json, nameAdvice } from '../../protocol/index.ts'
import { BACKEND_SETTINGS } from './backendSettings.ts'
import { GATEWAY_SETTINGS } from './gatewaySettings.ts'
import type { Doubt } from './doubtful.ts'

export interface UnreadMember {
  readonly path: FieldPath
  /** Follows the name of the member. */
  readonly sentence: string
}

const CONTAINERS = ['mcpServers', 'servers']
const STANDARD = ['command', 'container', 'args', 'env', 'envFile', 'cwd', ...URL_FIELDS, 'headers', 'type', 'disabled']
/** Synonyms that are no typos. */
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

/** Unread members of the entry of a server. */
export function unreadInEntry(entry: unknown): readonly UnreadMember[] {
  return isObject(entry) ? unreadIn(entry, entrySentence) : []
}

/** Unread members at the top of a file. */
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

/** The variables that users set. */
const VARIABLES = ['PANNIER_KEYS', 'PANNIER_ADVERTISE', 'PANNIER_PEERS', 'PANNIER_LOG_LEVEL']
/** The variables that gateways set for the processes that they start. */
const OF_GATEWAYS: ReadonlySet<string> = new Set(['PANNIER_GATEWAYS', 'PANNIER_GATEWAY_WORKER'])
/** Variables that Kubernetes sets in each container for a service whose name begins with "pannier". */
const OF_SERVICES = /_SERVICE_(HOST|PORT)|_PORT(_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)?$/

/** Unread variables of the environment. `text`: the file, which may name its users' variables. */
export function unreadVariables(env: Env, text: string): readonly Doubt[] {
  const unread = Object.keys(env).filter(
    (name) =>
      name.startsWith('PANNIER_') &&
      !VARIABLES.includes(name) &&
      !OF_GATEWAYS.has(name) &&
      !OF_SERVICES.test(name) &&
      !text.includes(name),
  )
  return unread.map((name) => ({ path: [name], sentence: `is not read${adviceFor(name)}` }))
}

function adviceFor(name: string): string {
  const near = nameAdvice(name, VARIABLES)
  return near.startsWith(';') ? near : `. There are ${VARIABLES.join(', ')}.`
}
