/** Finds out from a command line which program, file, module or package is the server. Pure: it reads no file. */
import {
  type Interpreter,
  INTERPRETERS,
  type OptionTable,
  type PackageRunner,
  RUNNERS,
  UV,
  UV_RUN,
  WRAPPERS,
} from './launchers.ts'

export type CommandLine =
  /** The program is the server. */
  | { readonly kind: 'program' }
  /** A file that an interpreter runs, relative to `folder` if that is not the working folder. */
  | { readonly kind: 'script'; readonly path: string; readonly folder?: string }
  /** A module that the interpreter searches for (`python -m`). */
  | { readonly kind: 'module'; readonly name: string }
  /** A program or module of the project in a folder. */
  | { readonly kind: 'project'; readonly run: string; readonly folder: string }
  /** A program of a package. Without `program`, it has the name of the package. */
  | { readonly kind: 'package'; readonly registry: 'npm' | 'pypi'; readonly name: string; readonly program?: string }
  | { readonly kind: 'unclear'; readonly why: string }

/** `name` is the command, or the real path of the file that the command starts. */
export function readCommandLine(name: string, args: readonly string[]): CommandLine {
  const program = programName(name)
  if (args.some(isUrl)) return unclear('it is given the address of another server')
  if (WRAPPERS.has(program)) return unclear(`${program} starts another program`)
  if (program === 'uv') return readUv(args)
  if (program === 'bun' && args[0] === 'x') return readCommandLine('bunx', args.slice(1))
  if (program === 'bun' && args[0] === 'run') return readCommandLine('bun', args.slice(1))
  const [interpreter, runner] = [INTERPRETERS.get(program), RUNNERS.get(program)]
  if (interpreter) return readInterpreter(program, args, interpreter)
  if (runner) return readRunner(program, args, runner)
  return { kind: 'program' }
}

/** The name of a program without folder, version and extension: `python` for `C:\\bin\\Python3.12.EXE`. */
export function programName(path: string): string {
  const file = path.split(/[\\/]/).at(-1) ?? ''
  const name = file.toLowerCase().replace(/\.(exe|cmd|bat|ps1|com)$/, '')
  return /^(python|pypy|node|ruby|perl|php|lua|java)[\d.]+$/.test(name) ? name.replace(/[\d.]+$/, '') : name
}

function readInterpreter(program: string, args: readonly string[], { word, options, ...by }: Interpreter): CommandLine {
  const operands = readOperands(afterWord(args, word), options)
  if (!operands) return unclear(`we do not know what these arguments of ${program} mean`)
  const [module] = by.module === undefined ? [] : operands.given(by.module)
  if (module !== undefined) return { kind: 'module', name: module }
  const [path] = by.file === undefined ? operands.rest : operands.given(by.file)
  return path === undefined ? unclear(`${program} is given no file`) : readScript(path)
}

function readScript(path: string): CommandLine {
  const [, spec] = /^npm:\/?(.+)$/.exec(path) ?? []
  if (spec !== undefined) return packageLine({ registry: 'npm', spec, program: undefined })
  return /^[a-z]{2,}:/i.test(path) ? unclear('it is not a file') : { kind: 'script', path }
}

function readRunner(
  program: string,
  args: readonly string[],
  { word, options, from, registry }: PackageRunner,
): CommandLine {
  const operands = readOperands(afterWord(args, word), options)
  if (!operands) return unclear(`we do not know what these arguments of ${program} mean`)
  const [run, ...rest] = operands.rest
  const [spec = run, another] = operands.given(...from)
  if (spec === undefined || run === undefined) return unclear(`${program} is given no program`)
  if (another !== undefined) return unclear('it comes from several packages')
  const inside = readInside(run, rest)
  if (inside?.kind === 'module') return packageLine({ registry, spec, program: `-m ${inside.name}` })
  return inside ?? packageLine({ registry, spec, program: spec === run ? undefined : run })
}

/** The program that a package runner or `uv run` starts may itself start a file: `npx tsx server.ts`. */
function readInside(run: string, args: readonly string[]): CommandLine | undefined {
  const isScopedPackage = run.startsWith('@')
  const line = isScopedPackage ? undefined : readCommandLine(run.replace(/@[^/]*$/, ''), args)
  return line?.kind === 'program' ? undefined : line
}

function packageLine(named: { registry: 'npm' | 'pypi'; spec: string; program: string | undefined }): CommandLine {
  const { registry, spec, program } = named
  const name = registry === 'npm' ? npmName(spec) : pypiName(spec)
  if (name === undefined) return unclear('its package is not named as the registry names it')
  if (WRAPPERS.has(name)) return unclear(`${name} starts another program`)
  const isOther = program !== undefined && program !== name
  return { kind: 'package', registry, name, ...(isOther && { program }) }
}

// Without version or tag: a newer version of a package is the same server.
function npmName(spec: string): string | undefined {
  return /^((?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*)(?:@[\w.^~<>=|* -]*)?$/i.exec(spec)?.[1]
}

function pypiName(spec: string): string | undefined {
  const name = /^([a-z0-9](?:[\w.-]*[a-z0-9])?)(?:\[[\w,. -]*\])?(?:\s*(?:@\s*[\w.]+|[=<>!~]=?[^:]*))?$/i.exec(
    spec,
  )?.[1]
  return name?.toLowerCase().replace(/[-_.]+/g, '-')
}

function readUv(args: readonly string[]): CommandLine {
  const own = readOperands(args, UV)
  const [word, next] = own?.rest ?? []
  if (!own || word === undefined) return unclear('we do not know what these arguments of uv mean')
  if (word === 'tool' && next === 'run') return readCommandLine('uvx', own.rest.slice(2))
  const run = word === 'run' ? readOperands(own.rest.slice(1), UV_RUN) : undefined
  if (!run) return unclear(`we do not know what these arguments of uv ${word} mean`)
  return readProject(run, [...own.given('--directory'), ...run.given('--directory')].at(-1) ?? '.')
}

function readProject(operands: Operands, folder: string): CommandLine {
  const [module] = operands.given('-m', '--module')
  if (module !== undefined) return { kind: 'project', run: `-m ${module}`, folder }
  const [run, ...rest] = operands.rest
  if (run === undefined) return unclear('uv is given no program')
  if (/\.pyw?$/i.test(run)) return { kind: 'script', path: run, folder }
  const inside = readInside(run, rest)
  if (inside?.kind === 'script') return { ...inside, folder }
  if (inside?.kind === 'module') return { kind: 'project', run: `-m ${inside.name}`, folder }
  return inside ?? { kind: 'project', run, folder }
}

// A missing subcommand becomes an unknown option, which makes the command line unclear.
function afterWord(args: readonly string[], word: RegExp | undefined): readonly string[] {
  if (word === undefined) return args
  return word.test(args[0] ?? '') ? args.slice(1) : ['--no-such-option']
}

function isUrl(argument: string): boolean {
  return /^(--[^=]+=)?(https?|wss?|sse):\/\//i.test(argument)
}

function unclear(why: string): CommandLine {
  return { kind: 'unclear', why }
}

interface Operands {
  /** The values of an option, under any of its spellings. */
  given(...spellings: readonly string[]): string[]
  /** The operands: all arguments from the first that is no option. */
  readonly rest: readonly string[]
}

/**
 * The operands of a program. Undefined if an option is unknown, which might take the next argument as its value, or if a
 * value is missing.
 */
function readOperands(args: readonly string[], options: OptionTable): Operands | undefined {
  const { alone, aloneLike, valued, last = '' } = options
  const found: [string, string][] = []
  const given = (...spellings: string[]) => found.filter(([name]) => spellings.includes(name)).map(([, value]) => value)
  for (let at = 0; at < args.length; at++) {
    const argument = args[at] ?? ''
    if (argument === '--') return { given, rest: args.slice(at + 1) }
    if (!argument.startsWith('-')) return { given, rest: args.slice(at) }
    if (isIn(alone, argument) || aloneLike?.test(argument)) continue
    const [, name = argument, inline] = /^(--[^=]+)=(.*)$/s.exec(argument) ?? []
    if (!isIn(valued, name) && !isIn(last, name)) return undefined
    const value = inline ?? args[++at]
    if (value === undefined) return undefined
    found.push([name, value])
    if (isIn(last, name)) return { given, rest: args.slice(at + 1) }
  }
  return { given, rest: [] }
}

function isIn(words: string, word: string): boolean {
  return words.split(/\s+/).includes(word)
}
