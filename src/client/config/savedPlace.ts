/** The place of a server in a saved call: its target as plain JSON, without secrets, and the target made from it. */
import { nodeModule } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { nameOf, type ParsedTarget, readTarget, storable, type Target } from './target.ts'

/** Where a server is found again. */
export interface SavedPlace {
  /** A URL, a command with its arguments, or `file#name`. Null where the host knows without it. */
  readonly target: string | readonly string[] | null
  /** The folder a command is started in. */
  readonly cwd?: string
}

/** The place of a target. For a command it has the working folder. Headers and environment are left out. */
export function placeOf(target: Target): SavedPlace {
  const reading = readTarget(target)
  const place = { target: storable(target) }
  return 'command' in reading ? { ...place, cwd: nodeModule('node:path').resolve(reading.cwd ?? '') } : place
}

/** The parts of a target that are not saved, because they hold secrets. */
export interface UnsavedParts {
  /** For a command: environment variables, such as API keys, that are added to the default ones. */
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

/** Parts that do not fit are an error now, because otherwise the server would refuse the call later. */
function misplaced(reading: ParsedTarget): ClientError {
  const kind = 'command' in reading ? 'a command' : 'a URL'
  const which = 'entry' in reading ? 'an entry of a file, which has its own' : kind
  const sentence = `A command takes "env" and a URL "headers"; the saved call is for ${which}.`
  return new ClientError('TARGET_INVALID', sentence)
}

/** The name of the server for people; undefined if the saved target is not one that can be read. */
export function placeName(place: SavedPlace): string | undefined {
  try {
    return nameOf(targetOf(place))
  } catch {
    return undefined
  }
}
