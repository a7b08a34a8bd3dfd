/** What servers from npm listed when they were started on stdio, and what they are, as was read in their source. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from 'pannier/client'
import type { Truth } from './configuration.ts'

export interface Recording {
  /** The package, and its version. */
  readonly name: string
  readonly version: string
  /** Drawn at random by package, before anything was fitted: a third was kept aside. Servers of the corpus are in "fit". */
  readonly part: 'fit' | 'aside'
  readonly truth: Truth
  /** The reason, as a sentence. */
  readonly because: string
  /** The file that was started, its arguments, and the variables that were set to invented values. */
  readonly program: string
  readonly args?: readonly string[]
  readonly env?: readonly string[]
  readonly capabilities: Json
  /** Descriptions are cut off, and of schemas only the names of properties are kept: more is not read. */
  readonly tools: readonly Json[]
}

export function readRecordings(): readonly Recording[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'recordings.json'), 'utf8')) as readonly Recording[]
}
