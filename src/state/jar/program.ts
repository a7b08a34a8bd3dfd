/**
 * The key of a server that is started as a process: the real path of its program, and its arguments (SEP-1655: the file path of
 * the server). Arguments that name a file or folder count by their real paths and are shown; all others may be secrets, and
 * are in a digest. So `node server.js` is `/usr/bin/node /home/ann/server.js`, wherever it is started.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { basename, delimiter, dirname, extname, join, resolve } from 'node:path'
import { digestOf } from '../digest.ts'
import type { JarProgram, JarServer } from './store.ts'

/** The operating system as the rules for programs see it, so that tests can replace it. */
export interface Machine {
  /** The environment that programs inherit. */
  readonly env: Readonly<Record<string, string | undefined>>
  cwd(): string
  /** The path of a file or folder with all symbolic links resolved; undefined if it does not exist. */
  realPath(path: string): string | undefined
  /** Whether this is an executable file. */
  isProgram(path: string): boolean
}

export const thisMachine: Machine = {
  env: process.env,
  cwd: () => process.cwd(),
  realPath(path) {
    try {
      return realpathSync.native(path)
    } catch {
      return undefined
    }
  },
  isProgram(path) {
    try {
      accessSync(path, constants.X_OK)
      return statSync(path).isFile()
    } catch {
      return false
    }
  },
}

export function programServer({ command, args, cwd, env }: JarProgram, machine: Machine): JarServer {
  const folder = resolve(machine.cwd(), cwd ?? '')
  const program = findProgram(command, { cwd: folder, env: { ...machine.env, ...env } }, machine)
  if (program === undefined) return { refused: 'No state is kept, because there is no such program.' }
  const paths = args.map((argument) => (argument === '' ? undefined : machine.realPath(resolve(folder, argument))))
  const words = [ownPath(program, machine), ...paths.filter((path) => path !== undefined)].map(quoted)
  if (paths.includes(undefined)) words.push(`#${digestOf([cwd ?? null, args.map((each, at) => paths[at] ?? each)])}`)
  return { server: words.join(' ') }
}

/** The working folder and the environment in which a program is searched for. */
interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The path of the program that a command starts, found as the system does, by PATH. */
function findProgram(command: string, { cwd, env }: Place, machine: Machine): string | undefined {
  const isPath = command.includes('/') || command.includes('\\')
  const folders = isPath ? [''] : (env['PATH'] ?? env['Path'] ?? '').split(delimiter)
  const paths = folders.flatMap((folder) => spellings(resolve(cwd, folder, command), env))
  return paths.find((path) => machine.isProgram(path))
}

function spellings(path: string, env: Place['env']): string[] {
  if (process.platform !== 'win32' || extname(path) !== '') return [path]
  return (env['PATHEXT'] ?? '.COM;.EXE;.BAT;.CMD').split(';').map((extension) => path + extension)
}

/** The path in the real folder. A last link is kept: links to one file may be many programs (busybox, shims, virtual environments). */
function ownPath(program: string, machine: Machine): string {
  return join(machine.realPath(dirname(program)) ?? dirname(program), basename(program))
}

function quoted(path: string): string {
  return /\s/.test(path) ? JSON.stringify(path) : path
}
