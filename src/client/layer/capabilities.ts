/** Adds capabilities to the client's declaration: in a legacy `initialize`, or in the envelope of each request. */
import { type Era, isObject, type Json, META } from '../../protocol/index.ts'
import type { WireMessage } from './transport.ts'
import { metaIn, paramsOf, withParams } from './message.ts'

/** Adds to the capabilities in a message. A message without capabilities is returned unchanged. */
export type Declare = (message: WireMessage) => WireMessage

export function declaring(add: (capabilities: Json, era: Era) => Json): Declare {
  // Clients put the same object into each request, so the sum is computed once.
  const cache = new WeakMap<object, Json>()
  const addedTo = (capabilities: Json): Json => {
    const cached = cache.get(capabilities)
    if (cached !== undefined) return cached
    const added = add(capabilities, 'modern')
    cache.set(capabilities, added)
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
    const added = addedTo(capabilities)
    if (added === capabilities) return message
    return { ...message, params: { ...params, _meta: { ...meta, [META.capabilities]: added } } }
  }
}

/** Capabilities with `details` added to those of one area. */
export function extended(capabilities: Json, area: string, details: Json): Json {
  const declared = capabilities[area]
  return { ...capabilities, [area]: { ...(isObject(declared) && declared), ...details } }
}
