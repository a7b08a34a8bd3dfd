/** Finds the JavaScript file that a command starts, and its package, without starting anything. */
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import type { CommandAddress } from '../../client/index.ts'
import { isObject, type Json, parseJson } from '../../protocol/index.ts'
import { startedBy } from '../methods/metadata.ts'

export interface LocatedProgram {
  /** The folder of its package. Nothing outside is read. */
  readonly root: string
  /** The file that is started, as a path inside that folder. */
  readonly entry: string
  readonly manifest: Json
}

const NODE: ReadonlySet<string> = new Set(['node', 'nodejs', 'bun', 'tsx'])
const PACKAGE_RUNNERS: ReadonlySet<string> = new Set(['npx', 'bunx', 'pnpx', 'npm', 'pnpm', 'yarn'])
const MAX_MANIFEST = 1_000_000
const MAX_CACHED = 500

/** Undefined if it is no JavaScript on this machine. */
export async function locateProgram(address: CommandAddress): Promise<LocatedProgram | undefined> {
  try {
    const { command, args } = address
    const program = basename(command)
      .replace(/\.(exe|cmd)$/i, '')
      .toLowerCase()
    const folder = resolve(address.cwd ?? '.')
    if (NODE.has(program)) return await ofFile(startedBy(args).at(-1), folder)
    if (PACKAGE_RUNNERS.has(program)) return await ofPackage(wanted(startedBy(args)), folder, address)
    return await ofExecutable(command, folder, address)
  } catch {
    // A missing or unreadable file.
    return undefined
  }
}

interface WantedPackage {
  readonly name: string
  readonly version: string | undefined
  /** The named program of the package. */
  readonly program: string | undefined
}

/** A package, and perhaps a program of it: `--package=@a/b c`. */
function wanted([spec = '', program]: readonly string[]): WantedPackage | undefined {
  const [, name, version] = /^((?:@[\w.-]+\/)?[\w.-]+)(?:@(.+))?$/.exec(spec) ?? []
  return name === undefined || /^\.+$/.test(name) ? undefined : { name, version, program }
}

async function ofFile(script: string | undefined, folder: string): Promise<LocatedProgram | undefined> {
  if (script === undefined) return undefined
  const path = resolve(folder, script)
  for (const ending of ['', '.js', '.mjs', '.cjs']) {
    if (await isFile(path + ending)) return located(await realpath(path + ending))
  }
  // A folder is started by its index.
  return (await isFile(join(path, 'index.js'))) ? located(await realpath(join(path, 'index.js'))) : undefined
}

/** Searches `node_modules` from here upwards, and the cache of npx; the newest of that name counts. */
async function ofPackage(
  given: WantedPackage | undefined,
  folder: string,
  address: CommandAddress,
): Promise<LocatedProgram | undefined> {
  if (given === undefined) return undefined
  const candidates = [
    ...foldersUp(folder).map((one) => join(one, 'node_modules', given.name)),
    ...(await cached(given, address)),
  ]
  for (const candidate of candidates) {
    const manifest = await manifestIn(candidate)
    if (manifest === undefined || !isWanted(manifest, given)) continue
    const file = programOf(manifest, given)
    return file === undefined ? undefined : ofFile(file, candidate)
  }
  return undefined
}

function isWanted({ version }: Json, given: WantedPackage): boolean {
  // A range or a tag, such as "latest", may be any version.
  return given.version === undefined || !/^\d+\.\d+\.\d+/.test(given.version) || given.version === version
}

async function cached({ name }: WantedPackage, { env = {} }: CommandAddress): Promise<readonly string[]> {
  const home = env['HOME'] ?? homedir()
  const cache = env['npm_config_cache'] ?? process.env['npm_config_cache'] ?? join(home, '.npm')
  const folder = join(cache, '_npx')
  const names = (await readdir(folder).catch(() => [])).slice(0, MAX_CACHED)
  const found = await Promise.all(
    names.map(async (one) => {
      const path = join(folder, one, 'node_modules', name)
      const about = await stat(join(path, 'package.json')).catch(() => undefined)
      return about === undefined ? [] : [{ path, at: about.mtimeMs }]
    }),
  )
  return found
    .flat()
    .toSorted((one, other) => other.at - one.at)
    .map(({ path }) => path)
}

function programOf({ bin, main }: Json, { name, program }: WantedPackage): string | undefined {
  if (typeof bin === 'string') return bin
  const files = isObject(bin) ? bin : {}
  const [only, ...others] = Object.values(files)
  const file = files[program ?? name.replace(/.*\//, '')] ?? (others.length === 0 ? only : undefined) ?? main
  return typeof file === 'string' ? file : undefined
}

async function ofExecutable(
  command: string,
  folder: string,
  { env = {} }: CommandAddress,
): Promise<LocatedProgram | undefined> {
  const isPath = isAbsolute(command) || /[\\/]/.test(command)
  const searched = (env['PATH'] ?? process.env['PATH'] ?? '').split(delimiter).map((one) => join(one, command))
  for (const path of isPath ? [resolve(folder, command)] : searched) {
    if (await isFile(path)) return located(await realpath(path))
  }
  return undefined
}

/** The package of the nearest manifest with a name; without one, the folder alone. */
async function located(file: string): Promise<LocatedProgram> {
  for (const folder of foldersUp(dirname(file))) {
    const manifest = await manifestIn(folder)
    if (typeof manifest?.['name'] === 'string') return { root: folder, entry: insideOf(folder, file), manifest }
    if (basename(folder) === 'node_modules') break
  }
  return { root: dirname(file), entry: basename(file), manifest: {} }
}

/** With slashes on every system. */
function insideOf(folder: string, file: string): string {
  return file.slice(folder.length).split(sep).filter(Boolean).join('/')
}

function foldersUp(folder: string): readonly string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...foldersUp(above)]
}

async function manifestIn(folder: string): Promise<Json | undefined> {
  const path = join(folder, 'package.json')
  const about = await stat(path).catch(() => undefined)
  if (about === undefined || !about.isFile() || about.size > MAX_MANIFEST) return undefined
  const manifest = parseJson(await readFile(path, 'utf8'))
  return isObject(manifest) ? manifest : undefined
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false
}
