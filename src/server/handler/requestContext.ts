import { declares, type Json } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import { ClientState } from './clientState.ts'
import type { Context } from './context.ts'

/** The context of a request without a handler: it cannot ask, and has no journal. */
export interface RequestContext extends Pick<Context, 'can' | 'state' | 'principal' | 'client' | 'era' | 'meta'> {
  /** The parameters, as the client sent them. */
  readonly params: Readonly<Json>
}

export function requestContext(call: Call): RequestContext {
  const { peer, principal, meta, params } = call
  return {
    can: (capability) => declares(peer.capabilities, capability),
    state: new ClientState(call),
    principal,
    client: peer.client,
    era: peer.era,
    meta,
    params,
  }
}
