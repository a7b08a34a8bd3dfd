import { type Era, type Json, LEGACY_VERSIONS, ProtocolError } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import type { Registry } from './registry.ts'

/** The capabilities of this server: only those for which something is registered. */
export function serverCapabilities(registry: Registry, more: Json = {}): Json {
  return {
    ...more,
    logging: {},
    ...(registry.hasTools && { tools: { listChanged: true } }),
    ...(registry.hasPrompts && { prompts: { listChanged: true } }),
    ...(registry.hasResources && { resources: { listChanged: true, subscribe: true } }),
    ...(registry.hasCompletions && { completions: {} }),
  }
}

/** `stateful`: handlers keep something in this process between calls, so a client must come back in its session. */
export type Architecture = 'stateless' | 'stateful'

export const SESSION_NEEDED = 'This server keeps sessions: send initialize first, and its session id with each request.'
/** State that handlers keep for a session is in the process that began it. */
export const SESSION_ELSEWHERE =
  'This server keeps sessions, and another process of it began this one. Send its requests there, or initialize again.'

/**
 * A server's declarations about its sessions: `serverInfo.architecture`, `serverInfo.transport` and
 * `capabilities.session`. Every published schema and client accepts members it does not know.
 */
export class SessionDeclaration {
  readonly #architecture: Architecture
  readonly #isAlone: boolean
  readonly #isReachable: () => boolean
  readonly #keepsState: () => boolean
  readonly #transports = new Set<'http' | 'stdio'>()

  /**
   * `isAlone`: no other instance can open the seals of this one. `isReachable`: another instance can bring answers
   * here. `keepsState`: whether a server behind this one keeps something between calls, and identifies callers
   * otherwise than by their sessions.
   */
  constructor(
    architecture: Architecture,
    isAlone: boolean,
    isReachable: () => boolean,
    keepsState: () => boolean = () => false,
  ) {
    this.#architecture = architecture
    this.#isAlone = isAlone
    this.#isReachable = isReachable
    this.#keepsState = keepsState
  }

  get isStateful(): boolean {
    return this.#architecture === 'stateful'
  }

  reachedBy(transport: 'http' | 'stdio'): void {
    this.#transports.add(transport)
  }

  serverInfo(identity: object): Json {
    return { ...identity, architecture: this.#declared, transport: [...this.#transports] }
  }

  /**
   * Poolable: the requests of one call may go to different instances. In the session era the instance that asked must
   * be reachable from the others for that.
   */
  capabilities(era: Era): Json {
    const isPersistent = this.#declared === 'stateful'
    const isPoolable = !isPersistent && !this.#isAlone && (era === 'modern' || this.#isReachable())
    return { session: { persistent: isPersistent, poolable: isPoolable } }
  }

  get #declared(): Architecture {
    return this.#keepsState() ? 'stateful' : this.#architecture
  }

  /** A stateful server serves only requests inside a session, and the stateless era has no sessions. */
  assertServed({ method, peer }: Pick<Call, 'method' | 'peer'>): void {
    if (!this.isStateful || method === 'initialize' || method === 'ping') return
    if (peer.era === 'modern') {
      throw new ProtocolError('VERSION_UNSUPPORTED', 'This server keeps sessions, which that revision does not have.', {
        supported: LEGACY_VERSIONS,
        requested: peer.version,
      })
    }
    if (peer.session === undefined) throw new ProtocolError('MESSAGE_INVALID', SESSION_NEEDED)
  }
}
