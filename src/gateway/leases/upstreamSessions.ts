/**
 * Sessions at servers, stored for the gateway that resumes them. A session id is all that a server asks for, so it is
 * sealed, and opens only for its caller.
 */
import { randomUUID } from 'node:crypto'
import { DAY_SECONDS, isObject } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { UpstreamSession } from '../links/link.ts'
import { createSealer, type Keyring, type Sealer } from '../../state/seal/index.ts'

/** Longer than any session is used. */
const TTL_SECONDS = 3650 * DAY_SECONDS

export class UpstreamSessions {
  readonly #sealer: Sealer

  constructor(keyring: Keyring, audience: string) {
    this.#sealer = createSealer({ keyring, audience: `${audience} upstream sessions`, ttlSeconds: TTL_SECONDS })
  }

  /** `row` identifies the caller, `server` the server of the session. */
  seal(row: string, server: string, { id, version }: UpstreamSession): string {
    const body = { id, ...(version !== undefined && { version }) }
    return this.#sealer.seal('session', { method: server, name: row }, { id: randomUUID(), body })
  }

  /**
   * Opens a stored session; undefined if the keys have changed, or it is another server: the caller gets a new session.
   */
  open(row: string, server: string, token: string): UpstreamSession | undefined {
    try {
      const { body } = this.#sealer.open('session', { method: server, name: row }, token)
      const { id, version } = isObject(body) ? body : {}
      if (typeof id !== 'string') return undefined
      return { id, version: typeof version === 'string' ? version : undefined }
    } catch (error) {
      if (error instanceof StateError) return undefined
      throw error
    }
  }
}
