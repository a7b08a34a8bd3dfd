/** The options and targets of `pannier probe`, and their conversion to the library's options. */
import { statSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { expandVariables, entryNames, nameOf, type Target } from '../../client/index.ts'
import {
  type CheckName,
  type HarmlessCall,
  type Method,
  METHODS,
  type Order,
  type ProbeOptions,
  readKnownServers,
} from '../../probe/index.ts'
import { isObject, MAX_TIMER_MS, parseJson } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'
import { collect, readBearer, readHeaders, readTimeout, withCredentialOptions } from './client.ts'
import { readInputFile } from './input.ts'
import { typedCommand } from './operands.ts'

type EnvironmentVariables = Readonly<Record<string, string | undefined>>

export async function readProbeOptions(flags: ProbeFlags, env: EnvironmentVariables): Promise<ProbeOptions> {
  if (flags.json && flags.markdown) throw new InputError('Give --json or --markdown, not both.')
  const { header = [], otherHeader, bearerEnv, replica, method, order, known, check, timeout } = flags
  const bearer = bearerEnv === undefined ? undefined : `Bearer ${readBearer(bearerEnv, env)}`
  const timeoutMs = readTimeout(timeout)
  return {
    headers: { ...headersIn(header, env), ...(bearer !== undefined && { authorization: bearer }) },
    order,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(flags.expireAfter !== undefined && { expireMs: milliseconds('--expire-after', flags.expireAfter) }),
    ...(flags.listen !== undefined && { listenMs: milliseconds('--listen', flags.listen) }),
    ...(method !== undefined && { methods: [...new Set(method)].map(methodNumbered) }),
    ...(flags.program === false && { program: false }),
    ...(known !== undefined && { known: readKnownServers(parseJson(await readInputFile(known, '--known'))) }),
    ...(replica !== undefined && { replicas: replica }),
    ...(otherHeader !== undefined && { otherHeaders: headersIn(otherHeader, env) }),
    ...(check !== undefined && { checks: checksIn(check) }),
    ...callIn(flags),
    ...(flags.witness !== undefined && { witness: witnessIn(flags.witness) }),
  }
}

function headersIn(lines: readonly string[], env: EnvironmentVariables): Record<string, string> {
  return readHeaders(lines, (value) => expandVariables(value, { env, places: {} }, '--header'))
}

function milliseconds(option: string, seconds: string): number {
  const ms = Number(seconds) * 1000
  if (!(ms >= 1 && ms <= MAX_TIMER_MS))
    throw new InputError(`${option} takes a number of seconds from 0.001 to 2147483.`)
  return ms
}

function methodNumbered(number: string): Method {
  const found = Object.entries(METHODS).find(([, method]) => String(method.number) === number)
  if (found === undefined) throw new InputError('--method is 1, 2, 3, 4 or 5.')
  return found[0] as Method
}

/** The library rejects names that do not exist. */
function checksIn(names: readonly string[]): 'all' | 'none' | readonly CheckName[] {
  if (names.includes('none') && names.length > 1)
    throw new InputError('--check none cannot be combined with other checks.')
  const [found] = (['all', 'none'] as const).filter((name) => names.includes(name))
  return found ?? (names as readonly CheckName[])
}

function callIn({ call, arguments: given }: ProbeFlags): Pick<ProbeOptions, 'call'> {
  if (call === undefined && given !== undefined) throw new InputError('--arguments are for the tool of --call.')
  if (call === undefined) return {}
  const args = given === undefined ? {} : parseJson(given)
  if (!isObject(args)) throw new InputError('--arguments takes a JSON object.')
  return { call: { name: call, arguments: args } }
}

/** A tool, and perhaps its arguments: `count {"by":1}`. */
function witnessIn(text: string): HarmlessCall {
  const [, name = '', given = '{}'] = /^\s*(\S+)\s*(\{[\s\S]*\})?\s*$/.exec(text) ?? []
  const args = parseJson(given)
  if (name === '' || !isObject(args)) {
    throw new InputError('--witness takes a tool and a JSON object, as in --witness \'count {"by":1}\'.')
  }
  return { name, arguments: args }
}

export interface ProbeFlags {
  readonly header?: readonly string[]
  readonly bearerEnv?: string
  readonly timeout?: string
  readonly method?: readonly string[]
  readonly order: Order
  /** False with --no-program. */
  readonly program?: boolean
  readonly known?: string
  readonly check?: readonly string[]
  readonly replica?: readonly string[]
  readonly call?: string
  readonly arguments?: string
  readonly witness?: string
  readonly otherHeader?: readonly string[]
  readonly expireAfter?: string
  readonly listen?: string
  readonly json?: boolean
  readonly markdown?: boolean
  readonly explain?: boolean
}

export function withProbeOptions(command: Command): Command {
  return withCredentialOptions(command)
    .option('--timeout <seconds>', 'how long one answer may take (default: 10)')
    .optionsGroup('Deciding:')
    .option(
      '--method <number>',
      'only this method: 1 sequential, 2 score, 3 metadata, 4 tools, 5 files (repeatable)',
      collect,
    )
    .option('--no-program', 'do not read the files of a program')
    .addOption(
      new Option(
        '--order <order>',
        'documented: known servers, the test, then the score; cheap-first: metadata, score, then the test',
      )
        .choices(['usual', 'documented', 'cheap-first'])
        .default('usual'),
    )
    .option('--known <file>', 'servers that you know, as JSON: [{ "match", "state", "because" }]')
    .optionsGroup('Checking more:')
    .option('--check <name>', 'make this check; "all" and "none" are names, too (repeatable)', collect)
    .option('--replica <url>', 'another instance of the same server (repeatable)', collect)
    .option('--call <tool>', 'a tool that may be called without harm')
    .option('--arguments <object>', 'its arguments as JSON')
    .option(
      '--witness <call>',
      'a harmless call, as in \'count {"by":1}\': made twice in one process, once in a fresh one',
    )
    .option(
      '--other-header <name:value>',
      'a header of another user, whose use of a request state must be refused (repeatable)',
      collect,
    )
    .option('--expire-after <seconds>', 'when a request state should have expired; the probe waits until then')
    .option('--listen <seconds>', 'how long to listen to the GET stream (default: 0.05)')
    .optionsGroup('Showing:')
    .option('--json', 'for programs')
    .option('--markdown', 'for a page or a comment')
    .option('--explain', 'show every message on standard error, with secrets hidden')
}

/** Throws if an option for one server is given with several: credentials must not reach the others. */
export function refuseForSeveral(flags: ProbeFlags): void {
  const given = FOR_ONE.find(([flag]) => flags[flag] !== undefined)
  if (given === undefined) return
  throw new InputError(`${given[1]} is for one server; name it, as in mcp.json#name. Headers can stand in the file.`)
}

/** Throws if an option is given that applies only to HTTP. */
export function refuseForProgram(flags: ProbeFlags): void {
  const given = FOR_HTTP.find(([flag]) => flags[flag] !== undefined)
  if (given === undefined) return
  throw new InputError(`${given[1]} is for servers over HTTP; a program takes what it needs from its environment.`)
}

const FOR_HTTP = [
  ['header', '--header'],
  ['bearerEnv', '--bearer-env'],
  ['otherHeader', '--other-header'],
  ['replica', '--replica'],
] as const

const FOR_ONE = [...FOR_HTTP, ['call', '--call'], ['witness', '--witness']] as const

export interface ProbeTarget {
  readonly name: string
  readonly target: Target
}

interface ProbeTargets {
  readonly targets: readonly ProbeTarget[]
  /** Whether a single server was named, and not a file with one entry. */
  readonly isOne: boolean
}

/** The servers to probe: one, or all entries of an mcp.json file. */
export async function readProbeTargets(
  operands: readonly string[],
  command: readonly string[] | undefined,
): Promise<ProbeTargets> {
  if (command !== undefined) {
    if (operands.length > 0) throw new InputError('Give TARGET or a command after --, not both.')
    const target = typedCommand(command)
    return { targets: [{ name: nameOf(target), target }], isOne: true }
  }
  const targets = (await Promise.all(operands.map(targetsOf))).flat()
  if (targets.length > 0) return { targets, isOne: operands.length === 1 && !operands.some(isConfigFile) }
  const missing = 'TARGET is missing: a URL, an mcp.json file, file#name, or -- and a command at the end of the line.'
  throw new InputError(operands.length === 0 ? missing : 'The file names no servers.')
}

async function targetsOf(operand: string): Promise<readonly ProbeTarget[]> {
  if (!isConfigFile(operand)) {
    assertMayBeUrl(operand)
    return [{ name: nameOf(operand), target: operand }]
  }
  return (await entryNames(operand)).map((name) => ({ name, target: `${operand}#${name}` }))
}

function isConfigFile(operand: string): boolean {
  return /\.jsonc?$/i.test(operand) && !/^https?:/i.test(operand)
}

/** Throws for a path or a program's name, which the library would read as an address. */
function assertMayBeUrl(operand: string): void {
  const found = statSync(operand, { throwIfNoEntry: false })
  if (found?.isDirectory()) throw new InputError(`${operand} is a folder; name the mcp.json file in it.`)
  if (found !== undefined) {
    throw new InputError(`${operand} is no .json file. To start a program, write -- and its command at the end.`)
  }
  if (/^[\w-]+$/.test(operand)) throw new InputError(`To start a program, write -- before it: -- ${operand} …`)
}
