/** The caller of a session-era request: by its session id, its version and its address. */
import type { Members, Self } from '../../cluster/index.ts'
import { type HeaderReader, isLegacyVersion, unsupportedVersion } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Caller } from '../call.ts'
import { SESSION_ELSEWHERE, SESSION_NEEDED } from '../catalog/capabilities.ts'
import { ServerError } from '../errors.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'
import { refusal } from '../http/refusal.ts'
import type { LimitOptions } from '../limits/requestLimits.ts'
import { type OpenSession, type Sessions, unknownPeer } from './session.ts'

export interface SessionCallersOptions {
  readonly sessions: Sessions
  readonly self: Self
  readonly members: Pick<Members, 'meet'>
  readonly clientAddress: LimitOptions['clientAddress']
  /** Whether requests outside a session are refused. */
  readonly needsSession: boolean
}

export class SessionCallers {
  readonly #options: SessionCallersOptions

  constructor(options: SessionCallersOptions) {
    this.#options = options
  }

  /** `sink` is the caller's own connection; absent if the request was forwarded here. */
  of(header: HeaderReader, principal: Principal | undefined, sink?: Sink): Caller | HttpReply {
    const version = header('mcp-protocol-version')
    if (version !== undefined && !isLegacyVersion(version)) throw unsupportedVersion(version, true)
    const session = this.sessionOf(header, principal)
    const address = principal === undefined ? this.#addressOf(header, sink) : undefined
    if (session === undefined) {
      if (this.#options.needsSession) return refusal(400, SESSION_NEEDED)
      return { peer: unknownPeer(version), principal, address }
    }
    if ('status' in session) return session
    if (session.begunBy !== undefined) this.#options.members.meet(session.begunBy)
    return { peer: this.#options.sessions.peerOf(session), principal, address }
  }

  #addressOf(header: HeaderReader, sink: Sink | undefined): string | undefined {
    return sink === undefined ? this.#options.clientAddress?.({ header }) : sink.address
  }

  /** The session that the request names. */
  sessionOf(header: HeaderReader, principal: Principal | undefined): OpenSession | HttpReply | undefined {
    const token = header('mcp-session-id')
    if (token === undefined) return undefined
    const { sessions, needsSession, self } = this.#options
    try {
      const session = sessions.open(token, principal)
      const isElsewhere = needsSession && session.begunBy?.id !== self.id
      return isElsewhere ? refusal(404, SESSION_ELSEWHERE) : session
    } catch (error) {
      if (error instanceof ServerError) return refusal(404, error.message)
      throw error
    }
  }
}
