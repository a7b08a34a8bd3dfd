/**
 * Gateways that start each other. Programs get the names of the gateways above them in a variable, together with the files that
 * are served. A gateway whose own file is among them does not start.
 */
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileName, namesIn } from './names.ts'

const VARIABLE = 'PANNIER_GATEWAYS'
const STARTED_BY_ITSELF =
  'This gateway was started by one that serves the same file. Remove the entry that starts it, or name another file.'
const TOO_DEEP = 'Too many gateways have started each other. Remove the entry that starts this one.'
/** Gateways that start each other, each with its file. */
const MAX_STARTED = 16

/** What started this process. Throws where it must not be a gateway, for this file. */
export function startedBy(file: string | undefined): readonly string[] {
  const started = namesIn(process.env[VARIABLE] ?? '')
  if (file !== undefined && started.includes(nameOf(file))) throw new TypeError(STARTED_BY_ITSELF)
  if (started.length >= MAX_STARTED) throw new TypeError(TOO_DEEP)
  return started
}

/** What programs get of a gateway with this name. */
export function programNames(
  started: readonly string[],
  id: string,
  file: string | undefined,
): Readonly<Record<string, string>> {
  return { [VARIABLE]: [...started, id, ...(file === undefined ? [] : [nameOf(file)])].join(',') }
}

/** Whether what a program printed before it ended says that it was such a gateway. */
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
    // It may be gone meanwhile.
  }
  return fileName(createHash('sha256').update(real).digest('hex'))
}
