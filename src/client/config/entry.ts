/**
 * One server of an mcp.json file: reads an entry as an address. What is wrong is reported by the path of its field, and
 * never quotes a value.
 */
import { isObject, type Json, nodeModule } from '../../protocol/index.ts'
import type { ClientCode } from '../errors.ts'
import type { Address, CommandAddress, Container } from './address.ts'
import { expand, type Variables } from './variables.ts'

/** Members of objects by name, items of lists by number. */
export type FieldPath = readonly (string | number)[]

export interface EntryProblem {
  readonly path: FieldPath
  readonly code: ClientCode & ('CONFIG_INVALID' | 'CONFIG_UNREADABLE' | 'CONFIG_VARIABLE_MISSING')
  /** Follows the name of the field: `must be a string.` */
  readonly sentence: string
}

export interface EntryContext {
  /** The folder that relative paths start from. */
  readonly project: string
  readonly variables: Variables
  /** The variables in values of headers and of the environment, which may differ by caller. @default variables */
  readonly callerVariables?: Variables
  /** Throws, or remembers that the address cannot be used. */
  readonly report: (problem: EntryProblem) => void
}

/** The address of an entry. Not to be used where something was reported. */
export async function readAddress(entry: unknown, context: EntryContext): Promise<Address> {
  const invalid = (sentence: string): Address => {
    context.report({ path: [], code: 'CONFIG_INVALID', sentence })
    return { command: '', args: [] }
  }
  if (!isObject(entry)) return invalid('must be an object.')
  const fields = fieldsOf(entry, context)
  const type = entry['type']
  const container: { container?: Container } = fields.has('container')
    ? { container: { image: fields.text('container') } }
    : {}
  const urlField = urlFieldOf(entry)
  if (fields.has('openapi')) {
    const isAlone = urlField !== undefined && !fields.has('command')
    return isAlone ? apiOf(fields, urlField, context) : invalid(OPENAPI_ALONE)
  }
  if (fields.has('command') && urlField !== undefined && !DECIDING_TYPES.has(type))
    return invalid(commandAndUrl(urlField))
  if (fields.has('command') && !HTTP_TYPES.has(type)) return { ...(await commandOf(fields, context)), ...container }
  if (container.container !== undefined && urlField === undefined && !HTTP_TYPES.has(type))
    return containerOf({ ...container.container, ...(typeof type === 'string' && { type }) }, fields, context)
  if (urlField === undefined)
    return invalid(fields.has('command') ? `has the type "${String(type)}", and needs a "url".` : NO_ADDRESS)
  const different = differentUrls(entry)
  if (different !== undefined) return invalid(different)
  const transport = type === 'sse' ? { transport: 'sse' as const } : {}
  return { url: fields.address(urlField), headers: fields.headers(), ...transport, ...container }
}

const OPENAPI_ALONE = 'has "openapi", and needs a "url" beside it, the base address of the API, and no "command".'

function apiOf(fields: Fields, urlField: string, { project }: EntryContext): Address {
  const isAddress = /^https?:/i.test(fields.text('openapi'))
  const openapi = isAddress
    ? fields.address('openapi')
    : nodeModule('node:path').resolve(project, fields.text('openapi'))
  return { url: fields.address(urlField), headers: fields.headers(), openapi }
}

/** The member for the address: in nearly all programs, in Gemini CLI and Qwen Code, in Windsurf and Antigravity. */
export const URL_FIELDS: readonly string[] = ['url', 'httpUrl', 'serverUrl']

/** The field with the address of a server over HTTP. */
export function urlFieldOf(entry: Json): string | undefined {
  return urlFieldsIn(entry)[0]
}

function urlFieldsIn(entry: Json): readonly string[] {
  return URL_FIELDS.filter((field) => entry[field] !== undefined && entry[field] !== null)
}

/** Programs disagree on which of several addresses counts, so different addresses are an error. */
function differentUrls(entry: Json): string | undefined {
  const fields = urlFieldsIn(entry)
  if (new Set(fields.map((field) => entry[field])).size < 2) return undefined
  const quoted = fields.map((field) => `"${field}"`)
  const listed = `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}`
  return `has different addresses in ${listed}; leave in the one that is meant.`
}

const NO_ADDRESS = 'needs a "command", a "url" or a "container".'
// "streamable-http" is the word of Roo Code, "streamableHttp" that of Cline.
const HTTP_TYPES: ReadonlySet<unknown> = new Set(['http', 'sse', 'streamable-http', 'streamableHttp'])
const DECIDING_TYPES: ReadonlySet<unknown> = new Set([...HTTP_TYPES, 'stdio', 'local'])

/** Without a `type` the choice is ambiguous, and one of the two starts a program. */
function commandAndUrl(urlField: string): string {
  return `has a "command" and a "${urlField}"; leave one of them out, or choose with the type "stdio" or "http".`
}

/** Docker runs the image, and takes the variables of the entry from its own environment: no value is an argument. */
async function containerOf(container: Container, fields: Fields, context: EntryContext): Promise<CommandAddress> {
  const { args, env = {}, ...address } = await commandOf(fields, context, 'docker')
  const variables = Object.keys(env).flatMap((name) => ['-e', name])
  return { ...address, env, args: ['run', '-i', '--rm', ...variables, container.image, ...args], container }
}

async function commandOf(
  fields: Fields,
  context: EntryContext,
  command = fields.text('command'),
): Promise<CommandAddress> {
  const { project } = context
  const { resolve } = nodeModule('node:path')
  const cwd = fields.has('cwd') ? resolve(project, fields.text('cwd')) : project
  const address = { command, args: fields.list('args'), env: fields.env(), cwd }
  if (!fields.has('envFile')) return address
  const fromFile = await variablesIn(resolve(project, fields.text('envFile')), context)
  return { ...address, env: { ...fromFile, ...address.env } }
}

/** The variables in a file of environment variables (VS Code). */
async function variablesIn(envFile: string, { report }: EntryContext): Promise<Record<string, string>> {
  try {
    const text = await nodeModule('node:fs/promises').readFile(envFile, 'utf8')
    return nodeModule('node:util').parseEnv(text) as Record<string, string>
  } catch (error) {
    const sentence = `is a file that cannot be read: ${envFile} (${errnoOf(error)}).`
    report({ path: ['envFile'], code: 'CONFIG_UNREADABLE', sentence })
    return {}
  }
}

/** The code of a failed system call, such as ENOENT. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}

/** The fields of one entry. They are checked, and their variables replaced, when they are read. */
interface Fields {
  has(field: string): boolean
  text(field: string): string
  /** A complete http or https address. `target.ts` checks more than its scheme. */
  address(field: string): string
  list(field: string): string[]
  /** An object of strings. As in editors, numbers and booleans become strings, and null removes the name. */
  headers(): Record<string, string>
  env(): Record<string, string>
}

function fieldsOf(entry: Json, { variables, callerVariables = variables, report }: EntryContext): Fields {
  const invalid = (path: FieldPath, sentence: string): void => report({ path, code: 'CONFIG_INVALID', sentence })

  const expanded = (value: unknown, path: FieldPath, known = variables): string => {
    if (typeof value !== 'string') {
      invalid(path, 'must be a string.')
      return ''
    }
    const expansion = expand(value, known)
    if ('text' in expansion) return expansion.text
    const { name, advice } = expansion.missing
    report({ path, code: 'CONFIG_VARIABLE_MISSING', sentence: `needs the variable "${name}". ${advice}` })
    return ''
  }

  const texts = (field: string, known: Variables): Record<string, string> => {
    const value = entry[field] ?? {}
    if (!isObject(value)) {
      invalid([field], 'must be an object of strings.')
      return {}
    }
    const present = Object.entries(value).filter(([, item]) => item !== null)
    return Object.fromEntries(present.map(([name, item]) => [name, expanded(scalar(item), [field, name], known)]))
  }

  return {
    has: (field) => entry[field] !== undefined && entry[field] !== null,
    text: (field) => expanded(entry[field], [field]),
    address: (field) => {
      const text = expanded(entry[field], [field])
      const isHttp = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
      if (text !== '' && !isHttp) invalid([field], /^https?:\/\//i.test(text) ? WRONG_ADDRESS : NOT_HTTP)
      return isHttp ? text : ''
    },
    list: (field) => {
      const value: unknown = entry[field] ?? []
      if (Array.isArray(value)) return value.map((item: unknown, index) => expanded(item, [field, index]))
      invalid([field], 'must be a list of strings.')
      return []
    },
    headers: () => texts('headers', callerVariables),
    env: () => texts('env', callerVariables),
  }
}

const WRONG_ADDRESS = 'must be a complete address; check its host and port.'
const NOT_HTTP = 'must be a complete address that begins with http:// or https://.'

function scalar(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
}
