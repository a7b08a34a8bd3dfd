/** Which era a server speaks, from its answer to `server/discover`: the revision that has it has no sessions. */
import { type Era, isObject, type Json, LEGACY_VERSIONS, MODERN_VERSION } from '../../protocol/index.ts'
import { type Heard, isResult, isWall } from '../wire/reply.ts'

export interface EraFinding {
  /** Legacy also where nothing says modern; only `initialize` can tell then. */
  readonly era: Era
  /** The revisions that it says it speaks. */
  readonly versions: readonly string[]
  /** The result of `server/discover`, where there is one. */
  readonly discovered: Json | undefined
  /** There is nobody to talk to: nothing else needs to be asked. */
  readonly isUnreachable: boolean
  readonly heard: Heard
}

const VERSION_UNSUPPORTED = -32022
const NEWEST_LEGACY = LEGACY_VERSIONS[0]

export function readEra(heard: Heard): EraFinding {
  const versions = versionsIn(heard)
  const isModern = versions.some((version) => version >= MODERN_VERSION) && !isWall(heard)
  return {
    era: isModern ? 'modern' : 'legacy',
    versions,
    discovered: isModern && isResult(heard) ? heard.result : undefined,
    isUnreachable: heard.kind === 'redirected' || (heard.kind === 'gone' && !heard.wasThere),
    heard,
  }
}

/** The revisions with sessions among those that a server speaks. */
export function legacyAmong(versions: readonly string[]): readonly string[] {
  return versions.filter((version) => version <= NEWEST_LEGACY)
}

function versionsIn(heard: Heard): readonly string[] {
  if (isResult(heard)) return listed(heard.result['supportedVersions'])
  if (heard.kind !== 'error' || heard.code !== VERSION_UNSUPPORTED || !isObject(heard.data)) return []
  return listed(heard.data['supported'])
}

/** Only what looks like a revision, and no more than there can be. */
function listed(value: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value.slice(0, 50) : []
  return all.filter((item) => typeof item === 'string').filter((version) => /^\d{4}-\d\d-\d\d$/.test(version))
}
