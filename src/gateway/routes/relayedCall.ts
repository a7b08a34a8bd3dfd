/** A call of a client as a request to a server behind the gateway, with the way back to the client. */
import { randomUUID } from 'node:crypto'
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json } from '../../protocol/index.ts'
import { type Call, InputRequired } from '../../server/internal.ts'
import type { Relayed } from '../links/relayed.ts'
import type { RecordedCall } from '../telemetry/calls.ts'
import type { CallState } from './clientState.ts'
import { traceHeaders, withTrace } from '../telemetry/tracing.ts'

interface WayBack {
  /** Headers that mirror arguments. */
  readonly headers?: Relayed['headers'] | undefined
  readonly ask?: Relayed['ask'] | undefined
  readonly state: CallState
}

/** `trace` is what of it continues at the server. */
export function relayedOf({ call, trace }: Pick<RecordedCall, 'call' | 'trace'>, params: Json, more: WayBack): Relayed {
  const { channel, peer, principal, method } = call
  const headers = { ...more.headers, ...traceHeaders(trace) }
  return {
    method,
    params: withTrace(more.state.request(params), trace),
    peer,
    principal,
    address: call.address ?? channel.address,
    authorization: call.authorization ?? call.header?.('authorization'),
    notify: (notification, details) => channel.notify(notification, details),
    onCancel: (listener) => channel.onCancel(listener),
    headers,
    ask: more.ask,
    caller: more.state.caller,
  }
}

/** Asks a session-era caller on the stream of its call. */
export function askerOf({ channel, peer }: Call): Relayed['ask'] {
  const { push } = channel
  if (push === undefined || peer.era === 'modern') return undefined
  const id = randomUUID() // of the call: answers find it by this
  let asked = 0
  return async (request: InputRequest) => {
    const key = `question ${++asked}`
    return (await push.call(channel, request, { key, id, carry: 'process', isBound: true, body: () => ({}) })) as Json
  }
}

/** What another server asks, as a handler asks it. */
export function inputRequired({ inputRequests, requestState }: Json): InputRequired {
  const requests = isObject(inputRequests) ? (inputRequests as Record<string, InputRequest>) : {}
  return new InputRequired(new Map(Object.entries(requests)), requestState)
}
