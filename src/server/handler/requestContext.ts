import { declares, type Json } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import { ClientState } from './clientState.ts'
import type { Context } from './context.ts'

/** What is known of a request that runs no tool, prompt or resource: it cannot ask, and has nothing to remember. */
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
