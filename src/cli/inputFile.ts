import { readFile } from 'node:fs/promises'
import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import { InputError } from './inputError.ts'

/**
 * The text of a file that an option names; `-` is standard input, which may never end. The path is not shown: it may be
 * a secret that was meant for elsewhere.
 */
export async function readInputFile(path: string, option: string, signal?: AbortSignal): Promise<string> {
  if (path === '-') return text(signal === undefined ? process.stdin : addAbortSignal(signal, process.stdin))
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
    throw new InputError(`Cannot read the file given with ${option} (${code}); check its path.`, { cause })
  }
}
