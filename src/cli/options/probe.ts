/** What the options of `pannier probe` mean for the library. */
import { expandVariables } from '../../client/index.ts'
import { type CheckName, type Method, METHODS, type ProbeOptions, readKnownServers } from '../../probe/index.ts'
import { isObject } from '../../protocol/index.ts'
import { readBearer, readHeaders, readTimeout } from './client.ts'
import { InputError } from '../inputError.ts'
import { readInputFile } from './input.ts'
import type { ProbeFlags } from './probeFlags.ts'

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
    ...(known !== undefined && { known: readKnownServers(parsed(await readInputFile(known, '--known'))) }),
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
  const args = given === undefined ? {} : parsed(given)
  if (!isObject(args)) throw new InputError('--arguments takes a JSON object.')
  return { call: { name: call, arguments: args } }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
