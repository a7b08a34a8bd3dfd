/**
 * Sessions at servers, as they are stored for the gateway that goes on with them. The id of a session is all that a server
 * asks for, so it is sealed, and opens for the caller whose it is and for no other.
 */
import { randomUUID } from 'node:crypto'
import { DAY_SECONDS, isObject } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { UpstreamSession } from '../links/link.ts'
import { createSealer, type Keyring, type Sealer } from '../../state/seal/index.ts'

/** Sessions that are in use stay in the table as long as they are. */
const TTL_SECONDS = 3650 * DAY_SECONDS

export class UpstreamSessions {
  readonly #sealer: Sealer

  constructor(keyring: Keyring, audience: string) {
    this.#sealer = createSealer({ keyring, audience: `${audience} upstream sessions`, ttlSeconds: TTL_SECONDS })
  }

  /** `row` names the caller, and `server` the address that the session is at. */
  seal(row: string, server: string, { id, version }: UpstreamSession): string {
    const body = { id, ...(version !== undefined && { version }) }
    return this.#sealer.seal('session', { method: server, name: row }, { id: randomUUID(), body })
  }

  /** Undefined where the keys have changed since, or the server is another one: then the caller begins anew. */
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
