/**
 * Reads the files of a program inside of its package: the started file and its imports. Nothing is executed, no link
 * out of the package is followed, and files, bytes and time have limits.
 */
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { dirname, join as joinSlashes } from 'node:path/posix'
import { setImmediate as turn } from 'node:timers/promises'
import { isObject } from '../../protocol/index.ts'
import { factsOf, type ParsedFile, parseFile, withoutDependencies } from '../methods/program/facts.ts'
import type { ProgramFacts } from '../methods/program/signals.ts'
import type { LocatedProgram } from './locate.ts'

const MAX_FILES = 400
const MAX_FOLDERS = 200
/** Of a file as it lies there; most of a bundle is not the program's own. */
const MAX_FILE_BYTES = 8_000_000
/** The limit of one file without its bundled libraries, and of all files together. */
const MAX_OWN = 600_000
const MAX_ALL = 2_000_000
const MAX_MS = 10_000
const ENDINGS = ['', '.js', '.mjs', '.cjs', '/index.js', '/index.mjs', '/index.cjs'] as const
const SCRIPT = /\.[cm]?js$/
/** Data and programs of other kinds, which a program may load. */
const OTHER = /\.(json|node|wasm|css|html|txt|md)$/
const NOT_OWN = /(^|\/)(node_modules|__tests__|tests?)\/|\.(test|spec)\.[cm]?js$/

export async function readProgram(program: LocatedProgram, signal?: AbortSignal): Promise<ProgramFacts> {
  const reader = new ProgramReader(program, signal)
  await reader.follow([program.entry])
  // A program may load its parts by names that only it knows: then they are the files beside it.
  if (!reader.hasHandlers) await reader.follow(await reader.beside())
  return reader.facts()
}

class ProgramReader {
  readonly #program: LocatedProgram
  readonly #signal: AbortSignal | undefined
  readonly #until = performance.now() + MAX_MS
  readonly #files = new Map<string, ParsedFile>()
  #skipped = 0
  #bytes = 0

  constructor(program: LocatedProgram, signal: AbortSignal | undefined) {
    this.#program = program
    this.#signal = signal
  }

  get hasHandlers(): boolean {
    return [...this.#files.values()].some(({ facts }) => facts?.functions.some(({ isHandler }) => isHandler))
  }

  facts(): ProgramFacts {
    const { dependencies, optionalDependencies } = this.#program.manifest
    const named = [dependencies, optionalDependencies].flatMap((one) => (isObject(one) ? Object.keys(one) : []))
    return factsOf([...this.#files.values()], named, this.#skipped)
  }

  async follow(paths: readonly string[]): Promise<void> {
    const open = [...paths]
    for (let path = open.shift(); path !== undefined; path = open.shift()) {
      this.#signal?.throwIfAborted()
      if (this.#files.size >= MAX_FILES || performance.now() > this.#until) {
        this.#skipped++
        return
      }
      const file = await this.#read(path)
      if (file === undefined) continue
      const local = file.imported.filter((one) => one.startsWith('.') && !OTHER.test(one))
      open.push(...local.map((one) => joinSlashes(dirname(file.path), one)))
      // Parsing keeps the thread busy; others get their turn between files.
      await turn()
    }
  }

  /** The scripts in the folder of the program and below, in the order of their names. */
  async beside(): Promise<readonly string[]> {
    const open = [dirname(this.#program.entry)]
    const found: string[] = []
    for (let visited = 0; open.length > 0 && visited < MAX_FOLDERS && found.length < MAX_FILES; visited++) {
      const folder = open.shift() ?? ''
      const entries = await readdir(join(this.#program.root, folder), { withFileTypes: true }).catch(() => [])
      const own = entries.filter(({ name }) => !NOT_OWN.test(`${name}/`) && !name.startsWith('.'))
      const pathOf = ({ name }: { readonly name: string }): string => joinSlashes(folder, name)
      found.push(
        ...own
          .filter((one) => one.isFile() && SCRIPT.test(one.name))
          .map(pathOf)
          .toSorted(),
      )
      open.push(
        ...own
          .filter((one) => one.isDirectory())
          .map(pathOf)
          .toSorted(),
      )
    }
    return found.filter((path) => !NOT_OWN.test(path))
  }

  async #read(path: string): Promise<ParsedFile | undefined> {
    const found = await this.#existing(path)
    if (found === undefined || this.#files.has(found)) return undefined
    const text = await this.#text(found)
    if (text === undefined) {
      this.#skipped++
      return undefined
    }
    const file = parseFile(found, text)
    this.#files.set(found, file)
    return file
  }

  /**
   * Resolves an import to a file of the package; undefined if there is no such file, or it lies outside the package.
   */
  async #existing(path: string): Promise<string | undefined> {
    for (const ending of ENDINGS) {
      const full = join(this.#program.root, path + ending)
      const about = await stat(full).catch(() => undefined)
      if (!about?.isFile()) continue
      const isInside = (await realpath(full)).startsWith(`${this.#program.root}${sep}`)
      return isInside && !NOT_OWN.test(path) ? path + ending : undefined
    }
    return undefined
  }

  /** Undefined if it is too long, no JavaScript, or may not be read. */
  async #text(path: string): Promise<string | undefined> {
    const full = join(this.#program.root, path)
    const about = await stat(full).catch(() => undefined)
    if (about === undefined || about.size > MAX_FILE_BYTES) return undefined
    const text = await readFile(full, 'utf8').catch(() => undefined)
    if (text === undefined || !(SCRIPT.test(path) || /^#!.*\b(node|bun)\b/.test(text))) return undefined
    const own = withoutDependencies(text)
    this.#bytes += own.replace(/\n+/g, '\n').length
    return (own.length > MAX_OWN && own.replace(/\n+/g, '\n').length > MAX_OWN) || this.#bytes > MAX_ALL
      ? undefined
      : own
  }
}
