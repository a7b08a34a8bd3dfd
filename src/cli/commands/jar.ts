import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { StateError } from '../../state/internal.ts'
import {
  defaultJarPath,
  type Jar,
  type JarFilter,
  sqliteJar,
  type JarEntry,
  type JarItem,
} from '../../state/jar/index.ts'
import { InputError } from '../exit.ts'
import { resultAs, printableJson } from '../output/json.ts'
import { writeResult } from '../output/screen.ts'
import { age, alignColumns } from '../output/layout.ts'

interface JarFlags {
  file?: string
  json?: true
  server?: string
  principal?: string
  name?: string
}

/** `pannier jar`: shows and removes the state that servers store with the user. */
export function jarCommand(): Command {
  const jar = new Command('jar').description('See and remove what servers keep with you (client-side state).')
  withFilterOptions(jar.command('list'))
    .description('Print what is kept, as a table without values.')
    .action(async (chosen: JarFlags) => writeResult(await listText(chosen)))
  withFilterOptions(jar.command('show'))
    .description('Print all about what is kept. Values are hidden unless you ask for them.')
    .option('--values', 'print the values, too; they may be secrets')
    .action(async (chosen: JarFlags & { values?: true }) => writeResult(await showText(chosen)))
  withFilterOptions(jar.command('clear'))
    .description('Remove what is kept, and say what that was. Servers have to do without it.')
    .option('--all', 'remove everything')
    .action(async (chosen: JarFlags & { all?: true }) => writeResult(await clearText(chosen)))
  return jar
}

function withFilterOptions(command: Command): Command {
  return command
    .option('--server <name>', 'only of this server, by its name as it is listed')
    .option('--principal <name>', 'only of this principal')
    .option('--name <name>', 'only under this name')
    .option('--file <path>', `the jar (default: ${defaultJarPath()})`)
    .option('--json', 'print JSON')
}

async function listText(chosen: JarFlags): Promise<string> {
  const entries = await withJar(chosen, (jar, filter) => jar.list(filter))
  const text = (): string => (entries.length === 0 ? nothingText(chosen) : jarTable(entries, Date.now()))
  return resultAs(chosen.json, jarData(entries), text)
}

async function showText(chosen: JarFlags & { values?: true }): Promise<string> {
  const items = await withJar(chosen, (jar, filter) => jar.show(filter))
  const values = chosen.values === true
  const shown = { values, now: Date.now() }
  const text = (): string => (items.length === 0 ? nothingText(chosen) : itemsText(items, shown))
  return resultAs(chosen.json, jarData(items, values), text)
}

async function clearText(chosen: JarFlags & { all?: true }): Promise<string> {
  assertFilterOrAll(chosen)
  const removed = await withJar(chosen, (jar, filter) => jar.remove(filter))
  const count = removed.length === 1 ? '1 name' : `${removed.length} names`
  return resultAs(chosen.json, jarData(removed), () =>
    removed.length === 0
      ? `Nothing was removed. ${nothingText(chosen)}`
      : `Removed ${count}:\n${jarTable(removed, Date.now())}`,
  )
}

function assertFilterOrAll({ all, server, principal, name }: JarFlags & { all?: true }): void {
  const isChosen = [server, principal, name].some((choice) => choice !== undefined)
  if (all && isChosen) throw new InputError('Give either --all, or what to remove: --server, --principal, --name.')
  if (!all && !isChosen) throw new InputError('Say what to remove: --server, --principal, --name, or --all.')
}

/** A missing default file counts as an empty jar. A file that was named must exist, so that a typing error is noticed. */
async function withJar<Item>(
  chosen: JarFlags,
  use: (jar: Jar, filter: JarFilter) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const { file } = chosen
  const path = file ?? defaultJarPath()
  if (!existsSync(path)) {
    if (file === undefined) return []
    throw new InputError(`There is no file ${path}.`)
  }
  try {
    const jar = sqliteJar({ path })
    const { server, principal, name } = chosen
    return await use(jar, { server, principal, name }).finally(() => jar.close())
  } catch (error) {
    if (!(error instanceof StateError)) throw error
    throw new InputError(`${path}: ${error.message}`, { cause: error })
  }
}

function nothingText(chosen: JarFlags): string {
  const isChosen = [chosen.server, chosen.principal, chosen.name].some((choice) => choice !== undefined)
  const what = isChosen ? 'Nothing like that is kept' : 'Nothing is kept'
  return `${what} in ${chosen.file ?? defaultJarPath()}.`
}

const MAX_COLUMN = 60
const HEADINGS = ['SERVER', 'PRINCIPAL', 'SCOPE', 'CONTEXT', 'NAME', 'BYTES', 'AGE']

/** A table with a line for each entry. Long names are cut. */
function jarTable(entries: readonly JarEntry[], now: number): string {
  const rows = entries.map(({ server, principal, scope, context, name, bytes, updatedAt }) => [
    cutStart(shown(server)),
    ...[shown(principal), scope, shown(context), shown(name), String(bytes), age(now - updatedAt)].map(cutEnd),
  ])
  return alignColumns([HEADINGS, ...rows])
}

/** A paragraph for each entry, with nothing cut. */
function itemsText(items: readonly JarItem[], { values, now }: { values: boolean; now: number }): string {
  const texts = items.map(({ server, principal, scope, context, name, bytes, updatedAt, usedAt, value }) => {
    const facts = [
      ['  principal', shown(principal)],
      ['  scope', context === undefined ? scope : `${scope}, context ${shown(context)}`],
      ['  bytes', String(bytes)],
      ['  set', moment(updatedAt, now)],
      ['  used', moment(usedAt, now)],
      ['  value', values ? printableJson(value).replaceAll('\n', '\n             ') : 'hidden; --values prints it'],
    ]
    return `${shown(server)}: ${shown(name)}\n${alignColumns(facts)}`
  })
  return texts.join('\n\n')
}

/** For programs. */
function jarData(entries: readonly (JarEntry | JarItem)[], values = false): readonly object[] {
  return entries.map((entry) => ({
    server: entry.server,
    principal: entry.principal,
    scope: entry.scope,
    context: entry.context,
    name: entry.name,
    bytes: entry.bytes,
    updatedAt: new Date(entry.updatedAt).toISOString(),
    usedAt: new Date(entry.usedAt).toISOString(),
    ...(values && 'value' in entry && { value: entry.value }),
  }))
}

/** Printable text as it is, other text as a JSON string. */
function shown(text: string | undefined): string {
  if (text === undefined) return '-'
  const isPlain = /^[\p{L}\p{N}\p{P}\p{S}]+( [\p{L}\p{N}\p{P}\p{S}]+)*$/u.test(text) && !/["\\]|^-$/.test(text)
  return isPlain ? text : printableJson(text)
}

function cutEnd(text: string): string {
  const characters = Array.from(text)
  return characters.length <= MAX_COLUMN ? text : `${characters.slice(0, MAX_COLUMN - 1).join('')}…`
}

/** The file of a command line, or the registered domain, is at the end. */
function cutStart(text: string): string {
  const characters = Array.from(text)
  return characters.length <= MAX_COLUMN ? text : `…${characters.slice(1 - MAX_COLUMN).join('')}`
}

function moment(time: number, now: number): string {
  return `${new Date(time).toISOString()} (${age(now - time)} ago)`
}
