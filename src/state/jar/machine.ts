import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, extname, join, resolve } from 'node:path'

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

/** The working folder and the environment in which a program is searched for. */
export interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The path of the program that a command starts, found as the system does, by PATH. Symbolic links are not resolved. */
export function findProgram(command: string, { cwd, env }: Place, machine: Machine): string | undefined {
  const isPath = command.includes('/') || command.includes('\\')
  const folders = isPath ? [''] : (env['PATH'] ?? env['Path'] ?? '').split(delimiter)
  const paths = folders.flatMap((folder) => spellings(resolve(cwd, folder, command), env))
  return paths.find((path) => machine.isProgram(path))
}

function spellings(path: string, env: Place['env']): string[] {
  if (process.platform !== 'win32' || extname(path) !== '') return [path]
  return (env['PATHEXT'] ?? '.COM;.EXE;.BAT;.CMD').split(';').map((extension) => path + extension)
}

/** The real path of a file or folder of this name in a folder or the nearest folder above it. */
export function findUpward(folder: string, name: string, machine: Machine): string | undefined {
  const found = machine.realPath(join(folder, name))
  if (found !== undefined || dirname(folder) === folder) return found
  return findUpward(dirname(folder), name, machine)
}
