/** Where a server is found again later: its target as plain JSON, and the way back to it. */
import { resolve } from 'node:path'
import { ClientError } from '../errors.ts'
import { nameOf, type ParsedTarget, readTarget, storable, type Target } from './target.ts'

/** Where a server is found again. */
export interface SavedPlace {
  /** A URL, a command with its arguments, or `file#name`. Null where the host knows without it. */
  readonly target: string | readonly string[] | null
  /** The folder a command is started in. */
  readonly cwd?: string
}

/** A command is found from its folder. Headers and environment are no part of it. */
export function placeOf(target: Target): SavedPlace {
  const reading = readTarget(target)
  const place = { target: storable(target) }
  return 'command' in reading ? { ...place, cwd: resolve(reading.cwd ?? '') } : place
}

/** The parts of a target that are not saved, because they hold secrets. */
export interface UnsavedParts {
  /** For a command: the environment that its process gets beside the small safe one, such as its keys. */
  readonly env?: Readonly<Record<string, string>>
  /** For a URL: sent with each request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The target that a saved call is for, to be given to `connect`, with the parts that were not saved. */
export function targetOf(place: SavedPlace, { env, headers }: UnsavedParts = {}): Target {
  const target = savedTarget(place)
  if (env === undefined && headers === undefined) return target
  const reading = readTarget(target)
  if ('command' in reading && env !== undefined && headers === undefined) return { ...reading, env }
  if ('url' in reading && headers !== undefined && env === undefined) return { ...reading, headers }
  throw misplaced(reading)
}

function savedTarget({ target, cwd }: SavedPlace): Target {
  if (target === null) throw new ClientError('SAVED_INVALID', 'The saved call does not say which server it is for.')
  if (typeof target === 'string' || cwd === undefined) return target
  const [command = '', ...args] = target
  return { command, args, cwd }
}

/** Left out in silence they would be missed only later, by a server that refuses the call. */
function misplaced(reading: ParsedTarget): ClientError {
  const kind = 'command' in reading ? 'a command' : 'a URL'
  const which = 'entry' in reading ? 'an entry of a file, where they stand themselves' : kind
  const sentence = `A command takes "env" and a URL "headers"; the saved call is for ${which}.`
  return new ClientError('TARGET_INVALID', sentence)
}

/** What people are told. A host may have saved a name of its own as the target, which is not for them. */
export function placeName(place: SavedPlace): string | undefined {
  try {
    return nameOf(targetOf(place))
  } catch {
    return undefined
  }
}
