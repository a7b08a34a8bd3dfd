/**
 * The key of a server that is started as a process: the real path of its file (SEP-1655: the file path of the server).
 * For an interpreter it is the file that the interpreter runs. For a package runner, such as npx, it is the file of the
 * installed package, or else a package URL without version. Other arguments do not change the key. If the command line
 * does not show which file is the server, there is no key: two servers must not share one.
 */
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { type CommandLine, programName, readCommandLine } from './commandLine.ts'
import { findProgram, findUpward, type Machine, type Place } from './machine.ts'
import type { JarProgram, JarServer } from './store.ts'

/** The program that a command starts, and where. */
interface Start extends Place {
  /** Its path with symbolic links: a Python environment differs from others only by the path of its link. */
  readonly program: string | undefined
  readonly machine: Machine
}

export function programServer(target: JarProgram, machine: Machine): JarServer {
  const { command, args } = withoutShell(target)
  const place = { cwd: resolve(machine.cwd(), target.cwd ?? ''), env: { ...machine.env, ...target.env } }
  const program = findProgram(command, place, machine)
  const start = { ...place, program, machine }
  return nameOf(readLine(command, args, start), start)
}

// On Windows, scripts such as npx are started by `cmd /c npx …`.
function withoutShell({ command, args }: JarProgram): Pick<JarProgram, 'command' | 'args'> {
  const isShell = programName(command) === 'cmd' && /^\/c$/i.test(args[0] ?? '')
  return isShell ? { command: args[1] ?? '', args: args.slice(2) } : { command, args }
}

// A symbolic link with another name may lead to an interpreter or a wrapper.
function readLine(command: string, args: readonly string[], { program, machine }: Start): CommandLine {
  const line = readCommandLine(command, args)
  const real = program && machine.realPath(program)
  return line.kind === 'program' && real ? readCommandLine(real, args) : line
}

function nameOf(line: CommandLine, start: Start): JarServer {
  switch (line.kind) {
    case 'program':
      return fileNamed(start.program && start.machine.realPath(start.program), 'there is no such program')
    case 'script':
      return scriptNamed(resolve(start.cwd, line.folder ?? '', line.path), start)
    case 'module':
      return moduleNamed(line.name, start)
    case 'project':
      return projectNamed(line, start)
    case 'package':
      return packageNamed(line, start)
    case 'unclear':
      return refused(line.why)
  }
}

// Some interpreters add the file extension, and some accept the name of an object after the file (`server.py:app`).
function scriptNamed(path: string, { machine }: Start): JarServer {
  const spellings = [path, `${path}.js`, `${path}.ts`, `${path}.mjs`, path.replace(/:\w+$/, '')]
  const real = spellings.map((spelling) => machine.realPath(spelling)).find((found) => found !== undefined)
  return fileNamed(real, 'there is no such file')
}

// Python searches the working folder and PYTHONPATH first. A module found elsewhere belongs to the interpreter.
function moduleNamed(name: string, { cwd, env, program, machine }: Start): JarServer {
  if (!/^\w+(\.\w+)*$/.test(name)) return refused('its module has no plain name')
  const folders = [cwd, ...(env['PYTHONPATH'] ?? '').split(delimiter).filter((folder) => folder !== '')]
  const inside = name.replaceAll('.', '/')
  const paths = folders.flatMap((folder) =>
    [`${inside}.py`, `${inside}/__main__.py`].map((file) => resolve(cwd, folder, file)),
  )
  const own = paths.map((path) => machine.realPath(path)).find((found) => found !== undefined)
  if (own !== undefined) return { server: own }
  const folder = program && machine.realPath(dirname(program))
  return program && folder
    ? { server: `${join(folder, basename(program))} -m ${name}` }
    : refused('there is no such program')
}

function projectNamed({ run, folder }: { run: string; folder: string }, { cwd, machine }: Start): JarServer {
  const real = machine.realPath(resolve(cwd, folder))
  return real === undefined ? refused('there is no such folder') : { server: `${real} ${run}` }
}

type Package = Extract<CommandLine, { kind: 'package' }>

// npx prefers installed programs: first a program of that name in the project, then the package in the project, then a
// program in the folder of npx itself.
function packageNamed({ registry, name, program }: Package, { cwd, program: runner, machine }: Start): JarServer {
  const run = program ?? name
  if (!/^(-m )?[\w.@/+-]+$/.test(run)) return refused('its program has no plain name')
  const suffix = program === undefined ? '' : `#${program}`
  if (registry === 'pypi') return { server: `pkg:pypi/${name}${suffix}` }
  const isProgram = !run.includes('/')
  const local = isProgram ? findUpward(cwd, join('node_modules', '.bin', run), machine) : undefined
  if (local !== undefined) return { server: local }
  const folder = findUpward(cwd, join('node_modules', name), machine)
  if (folder !== undefined) return { server: folder + suffix }
  const global = isProgram && runner ? machine.realPath(join(dirname(runner), run)) : undefined
  return { server: global ?? `pkg:npm/${name}${suffix}` }
}

function fileNamed(path: string | undefined, why: string): JarServer {
  return path === undefined || path === '' ? refused(why) : { server: path }
}

function refused(why: string): JarServer {
  return { refused: `No state is kept, because it is not clear which file is the server: ${why}.` }
}
