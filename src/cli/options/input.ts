/** Input that options name: files and standard input. */
import { readFile } from 'node:fs/promises'
import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import { plainLine } from '../../client/index.ts'
import { errnoOf } from '../../client/internal.ts'
import { parseJson } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'

export interface InputFileOptions {
  /** Whether an error names the path. False if users may type a secret here by mistake. @default true */
  readonly named?: boolean
}

/** Reads a file that an option names; `-` is standard input, which may never end, so it can be aborted. */
export async function readInputFile(
  path: string,
  option: string,
  signal?: AbortSignal,
  { named = true }: InputFileOptions = {},
): Promise<string> {
  if (path === '-') return text(signal === undefined ? process.stdin : addAbortSignal(signal, process.stdin))
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const file = named && !looksLikeContent(path) ? `${plainLine(path, 200)}, the file` : 'the file'
    throw new InputError(`Cannot read ${file} given with ${option} (${errnoOf(cause)}); check its path.`, { cause })
  }
}

/** JSON that an option gives: as its value, in a file (`@FILE`), or on standard input (`-`). Undefined if it is not JSON. */
export async function readJsonInput(value: string, option: string, signal: AbortSignal): Promise<unknown> {
  const isFile = value === '-' || value.startsWith('@')
  return parseJson(isFile ? await readInputFile(value.replace(/^@/, ''), option, signal) : value)
}

/** Whether the content was typed in place of the path: JSON, or a word as long as a key. */
function looksLikeContent(path: string): boolean {
  return /[{}[\]"\n]|[\w+=-]{30,}/.test(path)
}
