import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, extname, join, resolve } from 'node:path'

/** What the rules for programs ask of the machine they run on. */
export interface Machine {
  /** The environment that programs inherit. */
  readonly env: Readonly<Record<string, string | undefined>>
  cwd(): string
  /** The path of a file or folder with every link followed; undefined when there is none. */
  realPath(path: string): string | undefined
  /** Whether this is a file that may be run as a program. */
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

/** Where a program is looked for. */
export interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The path of the program that starts by this name, as the system finds it; links are not followed. */
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

/** The first place of this name in a folder or one above it, with every link followed. */
export function findUpward(folder: string, name: string, machine: Machine): string | undefined {
  const found = machine.realPath(join(folder, name))
  if (found !== undefined || dirname(folder) === folder) return found
  return findUpward(dirname(folder), name, machine)
}
