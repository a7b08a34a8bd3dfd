/**
 * Sessions of the session era without a session store: the session id is a sealed token with the result of
 * `initialize`, so any instance serves any request of any session.
 */
import type { ClientCapabilities, Implementation } from '@modelcontextprotocol/client'
import {
  isObject,
  type Json,
  negotiateLegacy,
  ProtocolError,
  readClient,
  UNNAMED_LEGACY_VERSION,
  understandsRounds,
} from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { Sealer } from '../../state/seal/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import { type Instance, readInstance, type Self, writeInstance } from '../../cluster/index.ts'
import { newId } from '../binding.ts'
import { ServerError } from '../errors.ts'
import type { Peer } from '../call.ts'
import { warnOfUnknownKey } from '../keys.ts'
import type { Logger } from '../logger.ts'
import { type Assume, type Assumption, assumption } from './assume.ts'
import type { SessionFacts } from './sessionFacts.ts'

/** The negotiated result of `initialize`. */
export interface Handshake {
  readonly version: string
  readonly client: Implementation | undefined
  readonly capabilities: ClientCapabilities
}

export interface OpenSession extends Handshake {
  readonly id: string
  readonly expiresAt: number
  /** The instance that began the session. */
  readonly begunBy: Instance | undefined
}

export interface SessionsOptions {
  /** Logs a session id that was sealed with a key this instance does not have. */
  readonly logger?: () => Logger
  /** @default nothing is assumed of a client */
  readonly assume?: Assume | undefined
}

export class Sessions {
  readonly #sealer: Sealer
  readonly #facts: SessionFacts
  readonly #self: Self
  readonly #logger: (() => Logger) | undefined
  readonly #assumption: Assumption

  constructor(sealer: Sealer, facts: SessionFacts, self: Self, { logger, assume }: SessionsOptions = {}) {
    this.#logger = logger
    this.#assumption = assumption(assume)
    this.#sealer = sealer
    this.#facts = facts
    this.#self = self
  }

  /** The parameters of `initialize` and the assumptions about the client, which the session id contains. */
  handshake(params: Json): Handshake {
    const { version, client, capabilities } = readHandshake(params)
    return { version, client, capabilities: this.#assumption(capabilities, client, version) }
  }

  /** Begins a session and returns its id. */
  begin({ version, client, capabilities }: Handshake, principal: Principal | undefined): string {
    try {
      return this.#sealer.seal(
        'session',
        { principal: principal?.id },
        { id: newId(), body: [version, client ?? null, capabilities, writeInstance(this.#self)] },
      )
    } catch (error) {
      if (!(error instanceof StateError)) throw error
      throw new ProtocolError(
        'PARAMS_INVALID',
        'The capabilities and clientInfo of this client are too large for a session id.',
      )
    }
  }

  /**
   * Opens a session id. The error is the same whether the session has ended or expired, belongs to another caller, or
   * is forged.
   */
  open(token: string, principal: Principal | undefined): OpenSession {
    try {
      const { id, body, expiresAt } = this.#sealer.open('session', { principal: principal?.id }, token)
      const [version, client, capabilities, entry] = body as [
        string,
        Implementation | null,
        ClientCapabilities,
        unknown,
      ]
      const begunBy = readInstance(entry)
      if (!this.#facts.isEnded(id))
        return { id, expiresAt, version, client: client ?? undefined, capabilities, begunBy }
    } catch (error) {
      if (!(error instanceof StateError)) throw error
      if (error.code === 'STATE_UNKNOWN_KEY' && this.#logger) warnOfUnknownKey(this.#logger())
    }
    throw new ServerError('SESSION_UNKNOWN', 'There is no such session (any more); initialize again.')
  }

  peerOf(session: OpenSession): Peer {
    const { id, begunBy } = session
    return { ...legacyPeer(session), session: id, begunBy, logLevel: this.#facts.levelOf(id) }
  }
}

export function readHandshake(params: Json): Handshake {
  const { protocolVersion, clientInfo, capabilities } = params
  if (typeof protocolVersion !== 'string')
    throw new ProtocolError('PARAMS_INVALID', '"params.protocolVersion" must be a string.')
  if (!isObject(capabilities)) throw new ProtocolError('PARAMS_INVALID', '"params.capabilities" must be an object.')
  return { version: negotiateLegacy(protocolVersion), client: readClient(clientInfo), capabilities }
}

export function legacyPeer({ version, client, capabilities }: Handshake): Peer {
  return {
    era: 'legacy',
    version,
    client,
    capabilities,
    logLevel: undefined,
    session: undefined,
    takesInputRequired: understandsRounds(capabilities),
  }
}

/** The peer of a session-era request outside a session, whose client is unknown. */
export function unknownPeer(version: string | undefined): Peer {
  return legacyPeer({ version: version ?? UNNAMED_LEGACY_VERSION, client: undefined, capabilities: {} })
}
