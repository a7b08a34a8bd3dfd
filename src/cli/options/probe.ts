/** What the options of `pannier probe` mean for the library. */
import { type Command, Option } from 'commander'
import { expandVariables } from '../../client/index.ts'
import { type CheckName, type Method, METHODS, type ProbeOptions, readKnownServers } from '../../probe/index.ts'
import { isObject, parseJson } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'
import { added, readBearer, readHeaders, readTimeout } from './client.ts'
import { readInputFile } from './input.ts'

type Env = Readonly<Record<string, string | undefined>>

export async function readProbeOptions(flags: ProbeFlags, env: Env): Promise<ProbeOptions> {
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
    ...(known !== undefined && { known: readKnownServers(parseJson(await readInputFile(known, '--known'))) }),
    ...(replica !== undefined && { replicas: replica }),
    ...(otherHeader !== undefined && { otherHeaders: headersIn(otherHeader, env) }),
    ...(check !== undefined && { checks: checksIn(check) }),
    ...callIn(flags),
  }
}

function headersIn(lines: readonly string[], env: Env): Record<string, string> {
  return readHeaders(lines, (value) => expandVariables(value, { env, places: {} }, '--header'))
}

function milliseconds(option: string, seconds: string): number {
  const ms = Number(seconds) * 1000
  if (!(ms >= 1 && ms <= 2 ** 31 - 1))
    throw new InputError(`${option} takes a number of seconds from 0.001 to 2147483.`)
  return ms
}

function methodNumbered(number: string): Method {
  const found = Object.entries(METHODS).find(([, method]) => String(method.number) === number)
  if (found === undefined) throw new InputError('--method is 1, 2 or 3.')
  return found[0] as Method
}

/** The library says which names there are. */
function checksIn(names: readonly string[]): 'all' | 'none' | readonly CheckName[] {
  if (names.includes('none') && names.length > 1) throw new InputError('--check none stands alone.')
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

/** The options of `pannier probe`. */

export interface ProbeFlags {
  readonly header?: readonly string[]
  readonly bearerEnv?: string
  readonly timeout?: string
  readonly method?: readonly string[]
  readonly order: 'usual' | 'cheap-first'
  readonly known?: string
  readonly check?: readonly string[]
  readonly replica?: readonly string[]
  readonly call?: string
  readonly arguments?: string
  readonly otherHeader?: readonly string[]
  readonly expireAfter?: string
  readonly listen?: string
  readonly json?: boolean
  readonly markdown?: boolean
  readonly explain?: boolean
}

export function withProbeOptions(command: Command): Command {
  return command
    .optionsGroup('Connecting:')
    .option('--header <name:value>', 'send this header; ${VAR} is taken from the environment (repeatable)', added)
    .option('--bearer-env <name>', 'send the bearer token that this environment variable holds')
    .option('--timeout <seconds>', 'how long one answer may take (default: 10)')
    .optionsGroup('Deciding:')
    .option('--method <number>', 'only this method: 1 sequential, 2 score, 3 metadata (repeatable)', added)
    .addOption(
      new Option('--order <order>', 'cheap-first: metadata, score, then the test')
        .choices(['usual', 'cheap-first'])
        .default('usual'),
    )
    .option('--known <file>', 'servers that you know, as JSON: [{ "match", "state", "because" }]')
    .optionsGroup('Checking more:')
    .option('--check <name>', 'make this check; "all" and "none" are names, too (repeatable)', added)
    .option('--replica <url>', 'another instance of the same server (repeatable)', added)
    .option('--call <tool>', 'a tool that may be called without harm')
    .option('--arguments <object>', 'its arguments as JSON')
    .option('--other-header <name:value>', "somebody else's header, for what must not be theirs (repeatable)", added)
    .option('--expire-after <seconds>', 'when a request state should have expired; it is waited for')
    .option('--listen <seconds>', 'how long to listen to a stream of no request (default: 0.05)')
    .optionsGroup('Showing:')
    .option('--json', 'for programs')
    .option('--markdown', 'for a page or a comment')
    .option('--explain', 'show every message on standard error, with secrets hidden')
}

/** What is meant for one server must not reach the others, a credential least of all. */
export function refuseForSeveral(flags: ProbeFlags): void {
  const given = FOR_ONE.find(([flag]) => flags[flag] !== undefined)
  if (given === undefined) return
  throw new InputError(`${given[1]} is for one server; name it, as in mcp.json#name. Headers can stand in the file.`)
}

/** Throws where an option is given that a program has no use for. */
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

const FOR_ONE = [...FOR_HTTP, ['call', '--call']] as const
