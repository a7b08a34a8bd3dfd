/**
 * Settings that are most likely a mistake: valid ones with doubtful values, and members that are not read where they
 * stand, because they are misspelt or in the wrong place. Other programs have their own members in the same file, so
 * unknown members are no error. Warnings never quote a value.
 */
import { type Env, type FieldPath, URL_FIELDS } from '../../client/internal.ts'
import { isObject, isOneTypo, type Json, nameAdvice } from '../../protocol/index.ts'
import { createNames, type NamedServer, SEPARATOR } from '../catalog/names.ts'
import { BACKEND_SETTINGS } from './backendSettings.ts'
import { dependOnPrincipal } from './callerValues.ts'
import { GATEWAY_SETTINGS, type ViewSettings } from './gatewaySettings.ts'

export interface Doubt {
  readonly path: FieldPath
  /** Follows the name of the member. */
  readonly sentence: string
}

const TYPES = ['stdio', 'http', 'sse']
const SPACES = 'has spaces; it is the program alone, and the rest stands in "args".'
const NO_SCHEME = 'has no scheme; most servers want "Bearer" and a space before a token.'
const NO_PRINCIPAL =
  'names the caller, and "gateway" has no "principal" to say who calls: every call to this server is refused.'
const UNCLOSED = 'has a "${" without its "}", and is passed on as it is.'
const BARE_VARIABLE = 'has a "$" before a name, and is passed on as it is; a variable is written ${NAME}.'

/** Doubts about the entry of a server. `knowsCallers`: whether the gateway has a `principal`. */
export function doubtsInEntry(entry: unknown, knowsCallers: boolean): readonly Doubt[] {
  if (!isObject(entry)) return []
  const { command, type } = entry
  const urls = URL_FIELDS.map((field) => ({ path: [field], text: entry[field] }))
  const texts = [...textsIn(entry, 'env'), ...textsIn(entry, 'headers'), ...urls]
  const doubts = [
    { path: ['command'], sentence: commandDoubt(command) },
    ...texts.map(({ path, text }) => ({ path, sentence: variableDoubt(text) })),
    ...texts.map(({ path, text }) => ({ path, sentence: knowsCallers ? undefined : principalDoubt(text) })),
    ...textsIn(entry, 'headers').map(({ path, text }) => ({ path, sentence: headerDoubt(path, text) })),
    { path: ['type'], sentence: typeDoubt(type) },
  ]
  return doubts.flatMap(({ path, sentence }) => (sentence === undefined ? [] : [{ path, sentence }]))
}

function textsIn(entry: object, member: string): readonly { path: FieldPath; text: unknown }[] {
  const values: unknown = Object.entries(entry).find(([name]) => name === member)?.[1]
  return isObject(values) ? Object.entries(values).map(([name, text]) => ({ path: [member, name], text })) : []
}

/** Spaces in a command are doubtful: folders may have them in their names, programs hardly ever. */
function commandDoubt(command: unknown): string | undefined {
  return typeof command === 'string' && /^[^/\\]*\S\s+\S/.test(command) ? SPACES : undefined
}

/** Shells and Copilot expand names without braces; the gateway does not. */
function variableDoubt(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined
  if (/\$\{[^}]*$/.test(text)) return UNCLOSED
  return /(?<![\w$])\$(?!COPILOT_MCP_)[A-Z_][A-Z0-9_]+(?!\w)/.test(text) ? BARE_VARIABLE : undefined
}

function principalDoubt(text: unknown): string | undefined {
  return typeof text === 'string' && dependOnPrincipal({ text }) ? NO_PRINCIPAL : undefined
}

function headerDoubt(path: FieldPath, text: unknown): string | undefined {
  const isOne = String(path.at(-1)).toLowerCase() === 'authorization'
  return isOne && typeof text === 'string' && !/\s|\$/.test(text) ? NO_SCHEME : undefined
}

function typeDoubt(type: unknown): string | undefined {
  const meant = typeof type === 'string' && !TYPES.includes(type) && TYPES.find((known) => isOneTypo(type, known))
  return meant ? `is not known; did you mean "${meant}"?` : undefined
}

type Views = Readonly<Record<string, ViewSettings>>

/** Patterns and names in views that no tool can have. */
export function doubtsInViews(views: Views, servers: readonly NamedServer[]): readonly Doubt[] {
  const names = createNames(servers)
  const prefixes = servers.map(({ name }) => names.prefix(name))
  const starts = prefixes.map((prefix) => (prefix === undefined ? '' : `${prefix}${SEPARATOR}`))
  if (starts.length === 0 || starts.includes('')) return []
  const sentence = `fits no tool, because their names begin with ${quotedList(starts)}.`
  return Object.entries(views).flatMap(([name, view]) =>
    patternsOf(view)
      .filter(({ pattern }) => !starts.some((start) => mayFit(pattern, start)))
      .map(({ path }) => ({ path: ['gateway', 'views', name, ...path], sentence })),
  )
}

function patternsOf({ tools, deny, rename, descriptions }: ViewSettings): { path: FieldPath; pattern: string }[] {
  const listed = (member: string, list: readonly string[]) =>
    list.map((pattern, at) => ({ path: [member, at], pattern }))
  const named = (member: string, record: object) =>
    Object.keys(record).map((pattern) => ({ path: [member, pattern], pattern }))
  return [
    ...listed('tools', tools),
    ...listed('deny', deny),
    ...named('rename', rename),
    ...named('descriptions', descriptions),
  ]
}

/** A pattern is literal up to its first star. */
function mayFit(pattern: string, start: string): boolean {
  const [fixed = ''] = pattern.split('*', 1)
  return fixed.startsWith(start) || (pattern.includes('*') && start.startsWith(fixed))
}

const LISTED = 5

function quotedList(starts: readonly string[]): string {
  const quoted = starts.slice(0, LISTED).map((start) => `"${start}"`)
  if (starts.length > LISTED) return `${quoted.join(', ')} and so on`
  return quoted.length === 1 ? String(quoted[0]) : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}

const CONTAINERS = ['mcpServers', 'servers']
const STANDARD = [
  'command',
  'openapi',
  'container',
  'args',
  'env',
  'envFile',
  'cwd',
  ...URL_FIELDS,
  'headers',
  'type',
  'disabled',
]
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
export function unreadInEntry(entry: unknown): readonly Doubt[] {
  return isObject(entry) ? unreadIn(entry, entrySentence) : []
}

/** Unread members at the top of a file. */
export function unreadAtTop(root: Json): readonly Doubt[] {
  return unreadIn(root, topSentence)
}

function unreadIn(members: Json, sentenceOf: (name: string, value: unknown) => string | undefined): readonly Doubt[] {
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
