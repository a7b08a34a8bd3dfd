/** The era of a server, from its reply to `server/discover`. The revisions that have this method have no sessions. */
import { CODES, type Era, isObject, type Json, MODERN_VERSION } from '../../protocol/index.ts'
import { type ProbeReply, isResult, isUnauthorized } from '../wire/reply.ts'

export interface EraFinding {
  /** 'legacy' if the server names no modern revision; `initialize` confirms that. */
  readonly era: Era
  /** The revisions that the server says it supports. */
  readonly versions: readonly string[]
  /** The result of `server/discover`, if any. */
  readonly discovered: Json | undefined
  /** There was no connection, or a redirect to elsewhere: no further request is sent. */
  readonly isUnreachable: boolean
  readonly reply: ProbeReply
}

export function readEra(reply: ProbeReply): EraFinding {
  const versions = versionsIn(reply)
  const isModern = versions.some((version) => version >= MODERN_VERSION) && !isUnauthorized(reply)
  return {
    era: isModern ? 'modern' : 'legacy',
    versions,
    discovered: isModern && isResult(reply) ? reply.result : undefined,
    isUnreachable: reply.kind === 'redirected' || (reply.kind === 'disconnected' && !reply.wasConnected),
    reply,
  }
}

function versionsIn(reply: ProbeReply): readonly string[] {
  if (isResult(reply)) return revisionsIn(reply.result['supportedVersions'])
  if (reply.kind !== 'error' || reply.code !== CODES.UNSUPPORTED_PROTOCOL_VERSION || !isObject(reply.data)) return []
  return revisionsIn(reply.data['supported'])
}

/** Only strings that look like a revision, and at most 50 of them. */
function revisionsIn(value: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value.slice(0, 50) : []
  return all.filter((item) => typeof item === 'string').filter((version) => /^\d{4}-\d\d-\d\d$/.test(version))
}
