/**
 * The files of the page, as Vite has built them: in the package below `dist`. In a clone of the sources they are built when the page
 * is first asked for, into a folder that has their digest.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ConsoleFile {
  readonly type: string
  readonly bytes: Buffer
}

/** The file at a path below `/console`; undefined where there is none. */
export type ConsoleFiles = (path: string) => Promise<ConsoleFile | undefined>

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Names as Vite gives them, so that no path leads elsewhere. */
const NAME = /^assets\/[\w-]+(?:\.[\w-]+)*$/

/** Reads nothing before the page is asked for. */
export function consoleFiles(): ConsoleFiles {
  const read = new Map<string, Promise<ConsoleFile | undefined>>()
  let folder: Promise<string> | undefined
  return async (path) => {
    const name = path === '' ? 'index.html' : path
    if (path !== '' && !NAME.test(path)) return undefined
    folder ??= builtFolder()
    const at = await folder.catch((error: unknown) => {
      folder = undefined
      throw error
    })
    if (!read.has(name) && existsSync(join(at, name))) read.set(name, fileAt(join(at, name)))
    return read.get(name)
  }
}

async function fileAt(path: string): Promise<ConsoleFile | undefined> {
  const type = TYPES[extname(path)]
  return type === undefined ? undefined : { type, bytes: await readFile(path) }
}

async function builtFolder(): Promise<string> {
  const here = fileURLToPath(import.meta.url)
  const root = rootOf(here)
  if (!here.endsWith('.ts')) return join(root, 'dist', 'console')
  const builder = (await import(join(root, 'scripts', 'console.ts'))) as { builtConsole: () => Promise<string> }
  return builder.builtConsole()
}

/** The folder of the package. */
function rootOf(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json')) || folder === dirname(folder)) return folder
  }
}
