/** Targets name a server: a URL, a command with arguments, or an entry of an mcp.json file, `file#name`. */
import { isObject, nodeModule } from '../../protocol/index.ts'
import { type Address, type CommandAddress, httpUrlFault } from './address.ts'
import { ClientError } from '../errors.ts'
import { readEntry } from './mcpJson.ts'

/**
 * A URL; a command with its arguments, as a list; `file#name`; or an address with all its parts. The first three are
 * plain JSON without secrets, so they can be stored and used again later.
 */
export type Target = string | URL | readonly string[] | Address

/** A target that was parsed, before any file is read. */
export type ParsedTarget = Address | { readonly file: string; readonly entry: string }

/** Parses a target. Throws an error that says what to give instead. */
export function readTarget(target: Target): ParsedTarget {
  if (target instanceof URL) return { url: httpUrl(target.href) }
  if (typeof target === 'string') return parseText(target)
  if (isList(target)) return commandOf(target[0], target.slice(1))
  if (isObject(target) && 'url' in target) return { ...target, url: httpUrl(String(target.url)) }
  if (isObject(target) && 'command' in target) return { ...target, ...commandOf(target.command, target.args) }
  throw invalid('A target is a URL, a list of a command and its arguments, or "file#name".')
}

/** The address of a target. Reads the file if the target is `file#name`. */
export async function addressOf(target: Target, env?: Readonly<Record<string, string | undefined>>): Promise<Address> {
  const reading = readTarget(target)
  if (!('entry' in reading)) return reading
  const address = await readEntry(reading.file, reading.entry, env)
  return 'url' in address ? { ...address, url: httpUrl(address.url) } : address
}

/** The name of a server for people: without credentials, query and options, since each may be secret. */
export function nameOf(target: Target): string {
  const reading = readTarget(target)
  if ('entry' in reading) return `${reading.file}#${reading.entry}`
  if ('command' in reading) return [reading.command, ...firstOperand(reading.args)].join(' ')
  const { origin, pathname } = new URL(reading.url)
  // Some services put an API key into the path.
  return origin + pathname.replace(/[^/]{25,}/g, '…')
}

/** The target as plain JSON, to be used again later. Headers, environment and folder are left out. */
export function storable(target: Target): string | readonly string[] {
  const reading = readTarget(target)
  if ('entry' in reading) return `${nodeModule('node:path').resolve(reading.file)}#${reading.entry}`
  return 'url' in reading ? reading.url : [reading.command, ...reading.args]
}

function parseText(text: string): ParsedTarget {
  if (/^https?:/i.test(text)) return { url: httpUrl(text) }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    throw invalid(`${text.split(':')[0]}: is not a protocol of MCP servers; use http: or https:.`)
  }
  const at = entryAt(text)
  const [file, entry] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
  if (file !== '' && entry !== '') return { file, entry }
  throw invalid(at < 0 ? adviceFor(text) : 'A target "file#name" needs both, the file and the name of its server.')
}

/** The index of the `#` in `file#name`: the first one after `.json`, since folders and names may have one, too. */
function entryAt(text: string): number {
  const file = /\.jsonc?#/i.exec(text)
  return file === null ? text.lastIndexOf('#') : file.index + file[0].length - 1
}

function adviceFor(text: string): string {
  if (/\.jsonc?$/i.test(text)) return `Name the server of the file: ${text}#name.`
  if (/^(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?(\/|$)/i.test(text)) return `Write the whole address: http://${text}`
  return 'A target is a URL, "file#name", or a command with its arguments as a list (on the command line: -- command …).'
}

function commandOf(command: unknown, args: unknown = []): CommandAddress {
  const all: readonly unknown[] = [command, ...(Array.isArray(args) ? (args as readonly unknown[]) : [undefined])]
  if (command === '' || !all.every((part) => typeof part === 'string')) {
    throw invalid('A command is the name of a program and a list of arguments, all of them strings.')
  }
  return { command: String(command), args: all.slice(1) }
}

function httpUrl(text: string): string {
  const fault = httpUrlFault(text)
  if (fault === undefined) return new URL(text).href
  throw invalid(`The address ${fault}`)
}

/**
 * The first operand. Undefined after an option, because the word may be the option's value; and undefined for an
 * address, which may contain a password.
 */
function firstOperand(args: readonly string[]): readonly string[] {
  const first = args.find((argument) => !FLAGS.has(argument) && !argument.includes('='))
  return first === undefined || first.startsWith('-') || first.includes('://') ? [] : [first]
}

const FLAGS: ReadonlySet<string> = new Set(['-y', '--yes', '-q', '--quiet', '-u'])

function isList(target: object): target is readonly string[] {
  return Array.isArray(target)
}

function invalid(sentence: string): ClientError {
  return new ClientError('TARGET_INVALID', sentence)
}
