import { existsSync, realpathSync } from 'node:fs'
import { Command } from 'commander'
import { StateError } from '../../state/internal.ts'
import { defaultJarPath, type Jar, type JarFilter, jarServerOf, sqliteJar } from '../../state/jar/index.ts'
import { InputError } from '../exit.ts'
import { itemsText, jarData, jarTable } from '../output/jar.ts'
import { resultAs } from '../output/json.ts'
import { writeResult } from '../output/screen.ts'

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
    .option('--server <name>', 'only of this server: a domain, a URL, its name, or a file in its command line')
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
    return await useEach(jar, filterOf(chosen), use).finally(() => jar.close())
  } catch (error) {
    if (!(error instanceof StateError)) throw error
    throw new InputError(`${path}: ${error.message}`, { cause: error })
  }
}

/** A server that is started as a process is also selected by one of the paths in its name. */
async function useEach<Item>(
  jar: Jar,
  filter: JarFilter,
  use: (jar: Jar, filter: JarFilter) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const { server } = filter
  if (server === undefined || !existsSync(server)) return use(jar, filter)
  const path = realpathSync(server)
  const entries = await jar.list({ ...filter, server: undefined })
  const names = new Set(entries.map((entry) => entry.server).filter((name) => hasPath(name, path)))
  const found: Item[] = []
  for (const name of names) found.push(...(await use(jar, { ...filter, server: name })))
  return found
}

function hasPath(server: string, path: string): boolean {
  return [path, JSON.stringify(path)].some((word) => ` ${server} `.includes(` ${word} `))
}

function filterOf({ server, principal, name }: JarFlags): JarFilter {
  return {
    server: server && storedServerName(fromJsonString(server)),
    principal: fromJsonString(principal),
    name: fromJsonString(name),
  }
}

/** Names with special characters are shown as JSON strings, and are accepted in that form. */
function fromJsonString<Given extends string | undefined>(given: Given): Given | string {
  if (given === undefined || !/^".*"$/.test(given)) return given
  try {
    return String(JSON.parse(given))
  } catch {
    return given
  }
}

function storedServerName(given: string): string {
  if (!/^(https?|wss?):\/\//i.test(given)) return given
  const place = jarServerOf({ url: given }, { allowLocal: true })
  if ('server' in place) return place.server
  throw new InputError(`--server: ${place.refused}`)
}

function nothingText(chosen: JarFlags): string {
  const isChosen = Object.values(filterOf(chosen)).some((choice) => choice !== undefined)
  const what = isChosen ? 'Nothing like that is kept' : 'Nothing is kept'
  return `${what} in ${chosen.file ?? defaultJarPath()}.`
}
