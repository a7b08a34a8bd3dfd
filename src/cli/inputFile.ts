import { readFile } from 'node:fs/promises'
import { InputError } from './inputError.ts'

/** The text of a file that an option names. */
export async function readInputFile(path: string, option: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
    throw new InputError(`Cannot read the file given with ${option} (${code}); check its path.`, { cause })
  }
}
