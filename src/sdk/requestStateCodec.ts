import type { ServerContext } from '@modelcontextprotocol/server'
import { type SealOptions, StateSeal } from './stateSeal.ts'

export type RequestStateCodecOptions = SealOptions

/** `mint` writes what `ctx.mcpReq.requestState<T>()` reads in the next round, on any instance with the same keys. */
export interface RequestStateCodec<T = unknown> {
  /** Seals any JSON for `inputRequired({ requestState })`. */
  mint(payload: T, ctx: ServerContext): Promise<string>
  /** For `ServerOptions.requestState.verify`: what it throws, the SDK answers with -32602. Needs no `this`. */
  verify(state: string, ctx: ServerContext): Promise<T>
}

const seals = new WeakMap<RequestStateCodec, StateSeal>()

/**
 * State for handlers of an official SDK server: encrypted where the SDK's own codec signs, bound to the caller and the
 * request, and opened by every key of a ring, so that keys rotate without a lost call.
 *
 * Over stdio nothing in a request tells the hook which tool it is for: there, let a payload say whose it is.
 */
export function requestStateCodec<T = unknown>(options: RequestStateCodecOptions): RequestStateCodec<T> {
  const seal = new StateSeal(options)
  const codec: RequestStateCodec<T> = {
    mint: async (payload, ctx) => seal.sealPayload(payload, ctx),
    verify: async (state, ctx) => seal.open(state, ctx) as T,
  }
  seals.set(codec, seal)
  return codec
}

/** The seal behind a codec. Private to this folder. */
export function sealOf(codec: RequestStateCodec): StateSeal {
  const seal = seals.get(codec)
  if (seal === undefined) throw new TypeError('Make `state` with requestStateCodec.')
  return seal
}
