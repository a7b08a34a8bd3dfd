/** What servers from npm listed when they were started on stdio, and what they are, as was read in their source. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from 'pannier/client'
import type { DecidedBy, State } from 'pannier/probe'
import type { ProgramSignalName } from '../src/probe/methods/program/signals.ts'
import type { Truth } from './configuration.ts'

export interface Recording {
  /** The package, and its version. */
  readonly name: string
  readonly version: string
  /** Those of the part "aside" were labelled before the probe saw them, and are not used for the weights. */
  readonly part: 'fit' | 'aside'
  /** The set, of those that are kept aside. */
  readonly set?: number
  readonly truth: Truth
  /** The reason, as a sentence. */
  readonly because: string
  /** The file that was started, its arguments, and its variables: those that are only named got invented values. */
  readonly program: string
  readonly args?: readonly string[]
  readonly env?: readonly string[]
  /** The whole verdict, when the program was probed; by the weights of that time. */
  readonly live?: LiveVerdict
  /** What the files of the program show, where they can be read: the probe's signals. No text of theirs is kept. */
  readonly files?: Readonly<Partial<Record<ProgramSignalName, number>>>
  readonly capabilities: Json
  readonly instructions?: string
  /** Descriptions are cut off, and of schemas only what the probe reads is kept. */
  readonly tools: readonly Json[]
}

export interface LiveVerdict {
  readonly state: State
  readonly confidence: number
  readonly decidedBy: DecidedBy
  /** Whether the protocol needs a session. */
  readonly protocol: State
}

const recordingsPath = join(import.meta.dirname, 'recordings.json')

export function readRecordings(): readonly Recording[] {
  return JSON.parse(readFileSync(recordingsPath, 'utf8')) as readonly Recording[]
}

/** Adds a recording, or replaces the one of that name. */
export function saveRecording(recording: Recording): void {
  saveRecordings([...readRecordings().filter(({ name }) => name !== recording.name), recording])
}

/** The file has a line for each server, by name. */
export function saveRecordings(recordings: readonly Recording[]): void {
  const sorted = recordings.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  writeFileSync(recordingsPath, `[\n${sorted.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`)
}
