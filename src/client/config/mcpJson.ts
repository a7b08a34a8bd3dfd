/**
 * Reads the configuration files of VS Code, Claude, Copilot, Cursor and others: JSON with comments, with named servers
 * under `mcpServers` or `servers`. An entry becomes an address. Error messages name files, entries, fields and
 * variables, and never quote a value.
 */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, resolve, sep } from 'node:path'
import { parseEnv } from 'node:util'
import { isObject, type Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { Address } from './address.ts'
import { parseCommentedJson } from './jsonc.ts'
import { expandVariables, type Variables } from './variables.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The names of the servers in a file, in its order. Disabled ones are left out; `readEntry` still reads them. */
export async function entryNames(file: string): Promise<readonly string[]> {
  const servers = Object.entries(serversIn(parseCommentedJson(await readConfigFile(file), file), file))
  return servers.filter(([, entry]) => !isObject(entry) || entry['disabled'] !== true).map(([name]) => name)
}

/** Reads the entry `name` of a file. Relative paths start from the project folder that the file belongs to. */
export async function readEntry(file: string, name: string, env: Env = process.env): Promise<Address> {
  const project = projectOf(file)
  const variables = { env, places: editorVariables(project) }
  const { address, envFile } = entryIn(await readConfigFile(file), { file, name, project, variables })
  if (envFile === undefined || 'url' in address) return address
  const fromFile = parseEnv(await readConfigFile(envFile)) as Record<string, string>
  return { ...address, env: { ...fromFile, ...address.env } }
}

interface EntryPlace {
  readonly file: string
  readonly name: string
  /** The folder that relative paths start from. */
  readonly project: string
  readonly variables: Variables
}

interface ServerEntry {
  readonly address: Address
  /** A file with more environment variables (VS Code). */
  readonly envFile?: string
}

/** The entry in the text of a file, with its variables replaced. */
function entryIn(text: string, place: EntryPlace): ServerEntry {
  const servers = serversIn(parseCommentedJson(text, place.file), place.file)
  const entry = Object.hasOwn(servers, place.name) ? servers[place.name] : undefined
  if (entry === undefined)
    throw invalid(`${place.file} has no server "${place.name}"; ${serverList(Object.keys(servers))}`)
  const where = `${place.file}#${place.name}`
  if (!isObject(entry)) throw invalid(`${where} must be an object.`)
  const fields = fieldsOf(entry, where, place.variables)
  const type = entry['type']
  if (fields.has('command') && fields.has('url') && !DECIDING_TYPES.has(type))
    throw invalid(`${where} ${COMMAND_AND_URL}`)
  if (entry['command'] !== undefined && !HTTP_TYPES.has(type)) return commandOf(fields, place.project)
  if (entry['url'] !== undefined) {
    const url = assertHttp(fields.text('url'), where)
    return { address: { url, headers: fields.texts('headers'), ...(type === 'sse' && { transport: 'sse' }) } }
  }
  throw invalid(`${where} needs a "command" or a "url".`)
}

const HTTP_TYPES: ReadonlySet<unknown> = new Set(['http', 'sse'])
const DECIDING_TYPES: ReadonlySet<unknown> = new Set([...HTTP_TYPES, 'stdio', 'local'])
// Without a type it is unknown which of the two is meant, and one of them starts a program.
const COMMAND_AND_URL = 'has a "command" and a "url"; leave one of them out, or choose with the type "stdio" or "http".'

/** Checks only the scheme. `target.ts` checks the rest of the address. */
function assertHttp(text: string, where: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw invalid(`${where}: "url" must be a complete address that begins with http:// or https://.`)
}

function commandOf(fields: Fields, project: string): ServerEntry {
  const cwd = fields.has('cwd') ? resolve(project, fields.text('cwd')) : project
  const address = { command: fields.text('command'), args: fields.list('args'), env: fields.texts('env'), cwd }
  return fields.has('envFile') ? { address, envFile: resolve(project, fields.text('envFile')) } : { address }
}

/** `mcpServers` (Claude, Copilot, Cursor), `servers` (VS Code's mcp.json), `mcp.servers` (VS Code's settings). */
function serversIn(file: unknown, path: string): Readonly<Record<string, unknown>> {
  const root = isObject(file) ? file : {}
  const settings = isObject(root['mcp']) ? root['mcp'] : {}
  const found = [settings['servers'], root['servers'], root['mcpServers']].filter(isObject)
  if (found.length === 0) throw invalid(`${path} has no servers: neither "mcpServers" nor "servers" is an object.`)
  return Object.fromEntries(found.flatMap((servers) => Object.entries(servers)))
}

function serverList(names: readonly string[]): string {
  return names.length === 0 ? 'it has none.' : `it has ${names.map((name) => `"${name}"`).join(', ')}.`
}

/** A file in `.vscode` or `.cursor` belongs to the folder above. */
function projectOf(file: string): string {
  const folder = dirname(resolve(file))
  return ['.vscode', '.cursor'].includes(basename(folder)) ? dirname(folder) : folder
}

function editorVariables(project: string): Record<string, string> {
  return {
    workspaceFolder: project,
    workspaceFolderBasename: basename(project),
    userHome: homedir(),
    pathSeparator: sep,
    '/': sep,
  }
}

async function readConfigFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
    throw new ClientError('CONFIG_UNREADABLE', `Cannot read ${file} (${code}); check its path.`, { cause })
  }
}

function invalid(sentence: string): ClientError {
  return new ClientError('CONFIG_INVALID', sentence)
}

/** The fields of one entry. They are checked, and their variables replaced, when they are read. */
interface Fields {
  has(field: string): boolean
  text(field: string): string
  list(field: string): string[]
  /** An object of strings. As in editors, numbers and booleans become strings, and null removes the name. */
  texts(field: string): Record<string, string>
}

function fieldsOf(entry: Json, where: string, variables: Variables): Fields {
  const invalid = (field: string, shape: string): ClientError =>
    new ClientError('CONFIG_INVALID', `${where}: "${field}" must be ${shape}.`)

  const expanded = (value: unknown, field: string): string => {
    if (typeof value !== 'string') throw invalid(field, 'a string')
    return expandVariables(value, variables, `${where}, ${field}`)
  }

  return {
    has: (field) => entry[field] !== undefined && entry[field] !== null,
    text: (field) => expanded(entry[field], field),
    list: (field) => {
      const value = entry[field] ?? []
      if (!Array.isArray(value)) throw invalid(field, 'a list of strings')
      return value.map((item, index) => expanded(item, `${field}[${index}]`))
    },
    texts: (field) => {
      const value = entry[field] ?? {}
      if (!isObject(value)) throw invalid(field, 'an object of strings')
      const present = Object.entries(value).filter(([, item]) => item !== null)
      return Object.fromEntries(present.map(([name, item]) => [name, expanded(scalar(item), `${field}.${name}`)]))
    },
  }
}

function scalar(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
}
