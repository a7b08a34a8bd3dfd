/** The keys that seal state, as commands are given them: in the environment, a file or on standard input. */
import { InputError } from '../exit.ts'
import { readInputFile } from './input.ts'

/** Where to read the keys from. As an argument only `-` is allowed. */
export interface KeysSource {
  argument?: string | undefined
  file: string | undefined
  environment: string | undefined
}

/** Reads a value of PANNIER_KEYS. A file or standard input holds the value alone, or lines of a .env file. */
export async function readKeysValue({ argument, file, environment }: KeysSource): Promise<string> {
  if (argument !== undefined && argument !== '-') {
    throw new InputError('Keys are not given as arguments, where others can see them; use PANNIER_KEYS or --keys-file.')
  }
  const path = argument ?? file
  if (path !== undefined) return valueIn(await readInputFile(path, '--keys-file', undefined, { named: false }))
  if (environment !== undefined) return environment
  throw new InputError(
    'No keys given: set PANNIER_KEYS, or name a file with --keys-file, or pass - for standard input.',
  )
}

/** The value of the last `PANNIER_KEYS=` line, as a .env reader takes it; without one, all lines but comments. */
function valueIn(content: string): string {
  const lines = content.replace(/^\ufeff/, '').split(/\r?\n/)
  const assigned = lines.map((line) => /^\s*(?:export\s+)?PANNIER_KEYS\s*=(.*)$/.exec(line)?.[1]).filter(isPresent)
  const last = assigned.at(-1)
  if (last !== undefined) return last.trim().replace(/^(["'])(.*)\1$/, '$2')
  return lines.filter((line) => !line.trimStart().startsWith('#')).join('\n')
}

function isPresent(value: string | undefined): value is string {
  return value !== undefined
}
