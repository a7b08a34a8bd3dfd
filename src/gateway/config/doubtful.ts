/** Settings that are valid but most likely a mistake. Warnings never quote a value. */
import { type FieldPath, URL_FIELDS } from '../../client/internal.ts'
import { isObject, isOneTypo } from '../../protocol/index.ts'
import { createNames } from '../catalog/names.ts'
import { SEPARATOR, type NamedServer } from '../catalog/prefixes.ts'
import type { ViewSettings } from './gatewaySettings.ts'

export interface Doubt {
  readonly path: FieldPath
  /** Follows the name of the member. */
  readonly sentence: string
}

const TYPES = ['stdio', 'http', 'sse']
const SPACES = 'has spaces; it is the program alone, and the rest stands in "args".'
const NO_SCHEME = 'has no scheme; most servers want "Bearer" and a space before a token.'
const UNCLOSED = 'has a "${" without its "}", and is passed on as it is.'
const BARE_VARIABLE = 'has a "$" before a name, and is passed on as it is; a variable is written ${NAME}.'

/** Doubts about the entry of a server. */
export function doubtsInEntry(entry: unknown): readonly Doubt[] {
  if (!isObject(entry)) return []
  const { command, type } = entry
  const urls = URL_FIELDS.map((field) => ({ path: [field], text: entry[field] }))
  const texts = [...textsIn(entry, 'env'), ...textsIn(entry, 'headers'), ...urls]
  const doubts = [
    { path: ['command'], sentence: commandDoubt(command) },
    ...texts.map(({ path, text }) => ({ path, sentence: variableDoubt(text) })),
    ...textsIn(entry, 'headers').map(({ path, text }) => ({ path, sentence: headerDoubt(path, text) })),
    { path: ['type'], sentence: typeDoubt(type) },
  ]
  return doubts.flatMap(({ path, sentence }) => (sentence === undefined ? [] : [{ path, sentence }]))
}

function textsIn(entry: object, member: string): readonly { path: FieldPath; text: unknown }[] {
  const values: unknown = Object.entries(entry).find(([name]) => name === member)?.[1]
  return isObject(values) ? Object.entries(values).map(([name, text]) => ({ path: [member, name], text })) : []
}

/** Folders may have spaces in their names, programs hardly ever. */
function commandDoubt(command: unknown): string | undefined {
  return typeof command === 'string' && /^[^/\\]*\S\s+\S/.test(command) ? SPACES : undefined
}

/** Shells and Copilot expand names without braces; the gateway does not. */
function variableDoubt(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined
  if (/\$\{[^}]*$/.test(text)) return UNCLOSED
  return /(?<![\w$])\$(?!COPILOT_MCP_)[A-Z_][A-Z0-9_]+(?!\w)/.test(text) ? BARE_VARIABLE : undefined
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
