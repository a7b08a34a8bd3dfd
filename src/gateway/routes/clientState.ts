/**
 * Client-side state (SEP-1655) through the gateway. A client keeps one dictionary for the whole host, so the names of
 * each server get a prefix: `cart` of `github` is `github/cart` at the client, on every route of the gateway. A server
 * sees only its own names.
 */
import { randomUUID } from 'node:crypto'
import { isObject, type Json, keepsState, readState, STATE_SCOPES, stateKey } from '../../protocol/index.ts'
import type { Call } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'

/** SEP-1655 also writes the keys as http:// addresses. */
const KEYS = STATE_SCOPES.flatMap((scope) => [stateKey(scope), `http://${stateKey(scope)}`])

/**
 * The key under which a client without a principal and a session keeps its name. Without a slash it belongs to no
 * server.
 */
const CALLER = 'pannier-caller'
const CALLER_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** The client's state in one call. A call that asks in place has several results, and the client gets only the last. */
export class CallState {
  /** The caller's name, if only the client's state identifies it. */
  readonly caller: string | undefined
  readonly #start: string
  /** The state changes of all results so far, under the client's names. */
  #changes: Json = {}

  /** `newCaller` creates a name for a client without one. */
  constructor(
    { name, isShared }: Pick<Backend, 'name' | 'isShared'>,
    { principal, peer, meta }: Call,
    newCaller: () => string = randomUUID,
  ) {
    this.#start = `${encodeURIComponent(name)}/`
    const isNamed = principal !== undefined || peer.session !== undefined
    if (isNamed || isShared || !keepsState(peer.capabilities)) return
    const kept = readState(meta, 'session')[CALLER]
    const isKnown = typeof kept === 'string' && CALLER_ID.test(kept)
    this.caller = isKnown ? kept : newCaller()
    if (!isKnown) this.#changes = { _meta: this.askingMeta }
  }

  /** The `_meta` that stores the caller's name with a result that asks. */
  get askingMeta(): Json | undefined {
    return this.caller === undefined ? undefined : { [stateKey('session')]: { [CALLER]: this.caller } }
  }

  /** The parameters for the server, with its part of the client's state under its own names. */
  request(params: Json): Json {
    return renamed(withStates(params, params, this.#changes), (name, value) =>
      name.startsWith(this.#start) && value !== null ? name.slice(this.#start.length) : undefined,
    )
  }

  /** The result for the client, with all changes of this call under the client's names. */
  result(result: Json): Json {
    const given = renamed(result, (name) => this.#start + name)
    this.#changes = withStates(given, this.#changes, given)
    return this.#changes
  }
}

function metaOf({ _meta: meta }: Json): Json | undefined {
  return isObject(meta) ? meta : undefined
}

function stateIn(meta: Json, key: string): Json {
  const state = meta[key]
  return isObject(state) ? state : {}
}

/** `part` with the states of two others; the later one overwrites the earlier one by name. */
function withStates(part: Json, earlier: Json, later: Json): Json {
  const [before = {}, after = {}] = [metaOf(earlier), metaOf(later)]
  const keys = KEYS.filter((key) => isObject(before[key]) || isObject(after[key]))
  if (keys.length === 0) return part
  const states = keys.map((key) => [key, { ...stateIn(before, key), ...stateIn(after, key) }] as const)
  return { ...part, _meta: { ...metaOf(part), ...Object.fromEntries(states) } }
}

/** `rename` returns undefined for a name to leave out. */
function renamed(part: Json, rename: (name: string, value: unknown) => string | undefined): Json {
  const meta = metaOf(part)
  if (meta === undefined || !KEYS.some((key) => key in meta)) return part
  const kept = Object.entries(meta).flatMap(([key, value]): [string, unknown][] => {
    if (!KEYS.includes(key)) return [[key, value]]
    const state = Object.entries(isObject(value) ? value : {}).flatMap(([name, each]) => {
      const other = rename(name, each)
      return other === undefined ? [] : [[other, each] as const]
    })
    return state.length === 0 ? [] : [[key, Object.fromEntries(state)]]
  })
  return { ...part, _meta: Object.fromEntries(kept) }
}
