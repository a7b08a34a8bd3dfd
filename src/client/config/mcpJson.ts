/**
 * Reads the configuration files of VS Code, Claude, Copilot, Cursor, Gemini CLI, Windsurf and others: JSON with comments,
 * with named servers under `mcpServers` or `servers`. An entry becomes an address. Error messages name files, entries,
 * fields and variables, and never quote a value.
 */
import { type Node, type ParseError, type ParseOptions, parse, parseTree, printParseErrorCode } from 'jsonc-parser'
import { isObject, nodeModule } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { Address } from './address.ts'
import { type EntryProblem, errnoOf, type FieldPath, readAddress } from './entry.ts'
import type { Variables } from './variables.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** The names of the servers in a file, in its order. Disabled ones are left out; `readEntry` still reads them. */
export async function entryNames(file: string): Promise<readonly string[]> {
  const servers = Object.entries(serversIn(parseCommentedJson(await readConfigFile(file), file), file))
  return servers.filter(([, entry]) => !isObject(entry) || entry['disabled'] !== true).map(([name]) => name)
}

/** Reads the entry `name` of a file. Relative paths start from the project folder that the file belongs to. */
export async function readEntry(file: string, name: string, env: Env = process.env): Promise<Address> {
  const servers = serversIn(parseCommentedJson(await readConfigFile(file), file), file)
  const entry = Object.hasOwn(servers, name) ? servers[name] : undefined
  if (entry === undefined) throw invalid(`${file} has no server "${name}"; ${serverList(Object.keys(servers))}`)
  const report = (problem: EntryProblem): never => refuse(problem, `${file}#${name}`)
  const address = await readAddress(entry, { ...entryPlace(file, env), report })
  if (!('openapi' in address)) return address
  throw invalid(`${file}#${name} is an OpenAPI document. Serve it with: pannier gateway ${file}`)
}

/** Where relative paths of a file start, and what its variables mean. */
export function entryPlace(file: string, env: Env): { readonly project: string; readonly variables: Variables } {
  const project = projectOf(file)
  return { project, variables: { env, places: editorVariables(project) } }
}

function refuse({ path, code, sentence }: EntryProblem, where: string): never {
  throw new ClientError(code, path.length === 0 ? `${where} ${sentence}` : `${where}: "${fieldText(path)}" ${sentence}`)
}

/** `args[0]` or `env.TOKEN`. */
function fieldText(path: FieldPath): string {
  return path.map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`)).join('')
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

/** A file in `.vscode`, `.cursor` or `.gemini` belongs to the folder above. */
function projectOf(file: string): string {
  const { basename, dirname, resolve } = nodeModule('node:path')
  const folder = dirname(resolve(file))
  return ['.vscode', '.cursor', '.gemini'].includes(basename(folder)) ? dirname(folder) : folder
}

function editorVariables(project: string): Record<string, string> {
  const { basename, sep } = nodeModule('node:path')
  return {
    workspaceFolder: project,
    workspaceFolderBasename: basename(project),
    userHome: nodeModule('node:os').homedir(),
    pathSeparator: sep,
    '/': sep,
  }
}

export async function readConfigFile(file: string): Promise<string> {
  try {
    return await nodeModule('node:fs/promises').readFile(file, 'utf8')
  } catch (cause) {
    const errno = errnoOf(cause)
    const advice = errno === 'EISDIR' ? 'it is a folder; name the file in it' : 'check its path'
    throw new ClientError('CONFIG_UNREADABLE', `Cannot read ${file} (${errno}); ${advice}.`, { cause })
  }
}

function invalid(sentence: string): ClientError {
  return new ClientError('CONFIG_INVALID', sentence)
}

/** The value in a text of JSON with comments and trailing commas. Throws an error that names the file and the line. */
export function parseCommentedJson(content: string, file: string): unknown {
  return parseWith<unknown>(parse, withoutMark(content), file)
}

/** The same as a tree, which knows where everything stands in the text, and how often. */
export function parseCommentedTree(content: string, file: string): CommentedTree {
  const text = withoutMark(content)
  const root = parseWith(parseTree, text, file)
  let starts: readonly number[] | undefined
  return { root, lineAt: (offset) => lineIn((starts ??= lineStarts(text)), offset) }
}

interface CommentedTree {
  readonly root: Node | undefined
  readonly lineAt: (offset: number) => number
}

type Parse<Parsed> = (text: string, errors: ParseError[], options: ParseOptions) => Parsed

function parseWith<Parsed>(parseText: Parse<Parsed>, text: string, file: string): Parsed {
  if (text.trim() === '')
    throw new ClientError('CONFIG_UNREADABLE', `${file} is empty; it needs servers under "mcpServers".`)
  const errors: ParseError[] = []
  const parsed = parseShallow(() => parseText(text, errors, { allowTrailingComma: true }), file)
  const [first] = errors
  if (first === undefined) return parsed
  const sentence = `${file} is not valid JSON at line ${lineIn(lineStarts(text), first.offset)}: ${problemOf(first)}.`
  throw new ClientError('CONFIG_UNREADABLE', sentence)
}

function parseShallow<Parsed>(run: () => Parsed, file: string): Parsed {
  try {
    return run()
  } catch {
    throw new ClientError('CONFIG_UNREADABLE', `${file} is nested too deeply to be read.`)
  }
}

function withoutMark(content: string): string {
  return content.replace(/^\ufeff/, '')
}

/** The offset of each line. */
function lineStarts(text: string): readonly number[] {
  return [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
}

/** The number of the line that an offset is in: how many begin there or before, by bisection. */
function lineIn(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return low
}

function problemOf({ error }: ParseError): string {
  return PROBLEMS[printParseErrorCode(error)]
}

const PROBLEMS: Readonly<Record<ReturnType<typeof printParseErrorCode>, string>> = {
  InvalidSymbol: 'there is an unknown word; text must be in double quotes',
  InvalidNumberFormat: 'a number is expected there',
  PropertyNameExpected: 'a name in double quotes is expected there',
  ValueExpected: 'a value is expected there',
  ColonExpected: 'a colon is expected there',
  CommaExpected: 'a comma is missing',
  CloseBraceExpected: 'a closing brace } is expected there',
  CloseBracketExpected: 'a closing bracket ] is expected there',
  EndOfFileExpected: 'the end of the file is expected there',
  InvalidCommentToken: 'a comment is not expected there',
  UnexpectedEndOfComment: 'the end of a comment */ is missing',
  UnexpectedEndOfString: 'a closing double quote is missing',
  UnexpectedEndOfNumber: 'a digit is expected there',
  InvalidUnicode: 'four hexadecimal digits are expected after \\u',
  InvalidEscapeCharacter:
    'there is a backslash before a character that cannot be escaped; write \\\\ for one backslash',
  InvalidCharacter: 'a control character, such as a tab, must be written as an escape',
  '<unknown ParseErrorCode>': 'there is something that is not JSON',
}
