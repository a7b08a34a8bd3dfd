/** Client-side state (SEP-1655) as a handler sees it: the values in the request, and those that the result will set. */
import { type Json, keepsState, readState, STATE_SCOPES, type StateScope, stateKey } from '../../protocol/index.ts'
import type { Call } from '../call.ts'

export interface StateBag {
  get(name: string): unknown
  /** False when this client keeps no state, so the value would be lost. Null deletes. */
  set(name: string, value: unknown): boolean
  delete(name: string): boolean
}

export class ClientState {
  readonly session: StateBag
  readonly server: StateBag
  readonly #changes: Partial<Record<StateScope, Record<string, unknown>>> = {}
  /** Whether this client declared that it keeps state. */
  readonly kept: boolean

  constructor(call: Call) {
    this.kept = keepsState(call.peer.capabilities)
    this.session = this.#bag('session', call.meta)
    this.server = this.#bag('server', call.meta)
  }

  /** The `_meta` entries that set changed values; undefined without changes. */
  get meta(): Json | undefined {
    const changed = STATE_SCOPES.filter((scope) => this.#changes[scope] !== undefined)
    if (!this.kept || changed.length === 0) return undefined
    return Object.fromEntries(changed.map((scope) => [stateKey(scope), this.#changes[scope]]))
  }

  #bag(scope: StateScope, meta: Json): StateBag {
    const brought = this.kept ? readState(meta, scope) : {}
    const change = (name: string, value: unknown): boolean => {
      if (!this.kept) return false
      const changes = (this.#changes[scope] ??= Object.create(null) as Record<string, unknown>)
      changes[name] = value === undefined ? null : structuredClone(value)
      return true
    }
    return {
      get: (name) => {
        const changes = this.#changes[scope]
        if (changes !== undefined && name in changes) return changes[name] ?? undefined
        return Object.hasOwn(brought, name) ? (brought[name] ?? undefined) : undefined
      },
      set: change,
      delete: (name) => change(name, null),
    }
  }
}
