/** Where a server is found again later: its target as plain JSON, and the way back to it. */
import { resolve } from 'node:path'
import { ClientError } from './errors.ts'
import type { SavedPlace } from './savedCall.ts'
import { nameOf, readTarget, storable, type Target } from './target.ts'

/** A command is found from its folder. Headers and environment are no part of it. */
export function placeOf(target: Target): SavedPlace {
  const reading = readTarget(target)
  const place = { target: storable(target) }
  return 'command' in reading ? { ...place, cwd: resolve(reading.cwd ?? '') } : place
}

/** The target that a saved call is for, to be given to `connect`. */
export function targetOf({ target, cwd }: SavedPlace): Target {
  if (target === null) throw new ClientError('SAVED_INVALID', 'The saved call does not say which server it is for.')
  if (typeof target === 'string' || cwd === undefined) return target
  const [command = '', ...args] = target
  return { command, args, cwd }
}

/** What people are told. A host may have saved a name of its own as the target, which is not for them. */
export function placeName(place: SavedPlace): string | undefined {
  try {
    return nameOf(targetOf(place))
  } catch {
    return undefined
  }
}
