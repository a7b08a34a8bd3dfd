/** Saying more to servers than the client itself says: in a legacy `initialize`, or in the envelope of each request. */
import { type Era, isObject, type Json, META } from '../../protocol/index.ts'
import type { WireMessage } from './transport.ts'
import { metaIn, paramsOf, withParams } from './message.ts'

/** Adds to the capabilities of a message that declares any. Others are given back as they are. */
export type Declare = (message: WireMessage) => WireMessage

export function declaring(add: (capabilities: Json, era: Era) => Json): Declare {
  // Clients declare the same object with each request.
  const known = new WeakMap<object, Json>()
  const inEnvelope = (capabilities: Json): Json => {
    const before = known.get(capabilities)
    if (before !== undefined) return before
    const added = add(capabilities, 'modern')
    known.set(capabilities, added)
    return added
  }
  return (message) => {
    if (message.method === undefined) return message
    const params = paramsOf(message)
    if (message.method === 'initialize') {
      const { capabilities } = params
      return withParams(message, { ...params, capabilities: add(isObject(capabilities) ? capabilities : {}, 'legacy') })
    }
    const meta = metaIn(params)
    const capabilities = meta[META.capabilities]
    if (!isObject(capabilities)) return message
    const added = inEnvelope(capabilities)
    if (added === capabilities) return message
    return { ...message, params: { ...params, _meta: { ...meta, [META.capabilities]: added } } }
  }
}

/** A capability area with more in it. */
export function extended(capabilities: Json, area: string, details: Json): Json {
  const declared = capabilities[area]
  return { ...capabilities, [area]: { ...(isObject(declared) && declared), ...details } }
}
