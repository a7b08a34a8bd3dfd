/**
 * Detects gateways that start each other. Programs get the names of the gateways above them in a variable, with the
 * files that these serve. A gateway whose own file is among them does not start.
 */
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'

const VARIABLE = 'PANNIER_GATEWAYS'
const STARTED_BY_ITSELF =
  'This gateway was started by one that serves the same file. Remove the entry that starts it, or name another file.'
const TOO_DEEP = 'Too many gateways have started each other. Remove the entry that starts this one.'
/** Maximum number of names: gateways that start each other, each with its file. */
const MAX_STARTED = 16
/** The name of a gateway, or of a file that one serves. */
const NAME = /^(?:[\w-]{12}|file-[0-9a-f]{16})$/
const FILE = 'file-'

/** The names in the variable, or in a header. */
export function namesIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => NAME.test(name))
}

/** The gateways and files that started this process. Throws if it must not be a gateway for this file. */
export function startedBy(file: string | undefined): readonly string[] {
  const started = namesIn(process.env[VARIABLE] ?? '')
  if (file !== undefined && started.includes(nameOf(file))) throw new TypeError(STARTED_BY_ITSELF)
  if (started.length >= MAX_STARTED) throw new TypeError(TOO_DEEP)
  return started
}

/** The gateways among such names. */
export function gatewaysOf(started: readonly string[]): readonly string[] {
  return started.filter((name) => !name.startsWith(FILE))
}

/** The variable for programs of a gateway with this name. */
export function programNames(
  started: readonly string[],
  id: string,
  file: string | undefined,
): Readonly<Record<string, string>> {
  return { [VARIABLE]: [...started, id, ...(file === undefined ? [] : [nameOf(file)])].join(',') }
}

/** Whether a program's output says that it was such a gateway. */
export function saysBehindItself(printed: readonly string[]): boolean {
  const text = printed.join(' ').replace(/\s+/g, ' ')
  return text.includes(STARTED_BY_ITSELF) || text.includes(TOO_DEEP)
}

function nameOf(file: string): string {
  const path = resolve(file)
  let real = path
  try {
    real = realpathSync(path)
  } catch {
    // The file may be gone by now.
  }
  return `${FILE}${createHash('sha256').update(real).digest('hex').slice(0, 16)}`
}
