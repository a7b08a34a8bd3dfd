import { existsSync, realpathSync, statSync } from 'node:fs'
import { Command } from 'commander'
import { StateError } from '../../state/internal.ts'
import { defaultJarPath, type Jar, type JarFilter, jarServerOf, sqliteJar } from '../../state/jar/index.ts'
import { InputError } from '../exit.ts'
import { itemsText, jarJson, jarTable } from '../output/jar.ts'

interface Chosen {
  file?: string
  json?: true
  server?: string
  principal?: string
  name?: string
}

/** `pannier jar`: shows people what servers keep with them, and removes it. */
export function jarCommand(): Command {
  const jar = new Command('jar').description('See and remove what servers keep with you (client-side state).')
  choosing(jar.command('list'))
    .description('Print what is kept, as a table without values.')
    .action(async (chosen: Chosen) => console.log(await listText(chosen)))
  choosing(jar.command('show'))
    .description('Print all about what is kept. Values are hidden unless you ask for them.')
    .option('--values', 'print the values, too; they may be secrets')
    .action(async (chosen: Chosen & { values?: true }) => console.log(await showText(chosen)))
  choosing(jar.command('clear'))
    .description('Remove what is kept, and say what that was. Servers have to do without it.')
    .option('--all', 'remove everything')
    .action(async (chosen: Chosen & { all?: true }) => console.log(await clearText(chosen)))
  return jar
}

function choosing(command: Command): Command {
  return command
    .option('--server <name>', 'only of this server: a domain, a file path, or a URL')
    .option('--principal <name>', 'only of this principal')
    .option('--name <name>', 'only under this name')
    .option('--file <path>', `the jar (default: ${defaultJarPath()})`)
    .option('--json', 'print JSON')
}

async function listText(chosen: Chosen): Promise<string> {
  const entries = await withJar(chosen, (jar) => jar.list(filterOf(chosen)))
  if (chosen.json) return jarJson(entries, { values: false })
  return entries.length === 0 ? nothing(chosen) : jarTable(entries, Date.now())
}

async function showText(chosen: Chosen & { values?: true }): Promise<string> {
  const items = await withJar(chosen, (jar) => jar.show(filterOf(chosen)))
  const values = chosen.values === true
  if (chosen.json) return jarJson(items, { values })
  return items.length === 0 ? nothing(chosen) : itemsText(items, { values, now: Date.now() })
}

async function clearText(chosen: Chosen & { all?: true }): Promise<string> {
  assertMeant(chosen)
  const removed = await withJar(chosen, (jar) => jar.remove(filterOf(chosen)))
  if (chosen.json) return jarJson(removed, { values: false })
  if (removed.length === 0) return `Nothing was removed. ${nothing(chosen)}`
  const count = removed.length === 1 ? '1 name' : `${removed.length} names`
  return `Removed ${count}:\n${jarTable(removed, Date.now())}`
}

function assertMeant({ all, server, principal, name }: Chosen & { all?: true }): void {
  const isChosen = [server, principal, name].some((choice) => choice !== undefined)
  if (all && isChosen) throw new InputError('Give either --all, or what to remove: --server, --principal, --name.')
  if (!all && !isChosen) throw new InputError('Say what to remove: --server, --principal, --name, or --all.')
}

/** Without a file nothing is kept. A file that was named must be there: a slip of the pen should not look empty. */
async function withJar<Item>({ file }: Chosen, use: (jar: Jar) => Promise<readonly Item[]>): Promise<readonly Item[]> {
  const path = file ?? defaultJarPath()
  if (!existsSync(path)) {
    if (file === undefined) return []
    throw new InputError(`There is no file ${path}.`)
  }
  try {
    const jar = sqliteJar({ path })
    return await use(jar).finally(() => jar.close())
  } catch (error) {
    if (!(error instanceof StateError)) throw error
    throw new InputError(`${path}: ${error.message}`, { cause: error })
  }
}

function filterOf({ server, principal, name }: Chosen): JarFilter {
  return { server: server && serverName(asShown(server)), principal: asShown(principal), name: asShown(name) }
}

/** What a terminal could not show as it is was shown as a JSON string, and may be given as one. */
function asShown<Given extends string | undefined>(given: Given): Given | string {
  if (given === undefined || !/^".*"$/.test(given)) return given
  try {
    return String(JSON.parse(given))
  } catch {
    return given
  }
}

function serverName(given: string): string {
  if (!/^(https?|wss?):\/\//i.test(given)) return isFile(given) ? realpathSync(given) : given
  const place = jarServerOf({ url: given }, { allowLocal: true })
  if ('server' in place) return place.server
  throw new InputError(`--server: ${place.refused}`)
}

/** A server that is a file is kept under its real path, however it was named when it was started. */
function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile()
}

function nothing(chosen: Chosen): string {
  const isChosen = Object.values(filterOf(chosen)).some((choice) => choice !== undefined)
  const what = isChosen ? 'Nothing like that is kept' : 'Nothing is kept'
  return `${what} in ${chosen.file ?? defaultJarPath()}.`
}
