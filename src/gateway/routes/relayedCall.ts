/** Converts a client's call into a request to a server, with the channel back to the client, and into its record. */
import { randomUUID } from 'node:crypto'
import type { InputRequest } from '@modelcontextprotocol/client'
import { findParamHeaders, isObject, type Json, type ParamHeader, paramHeaderValues } from '../../protocol/index.ts'
import { type Call, type ClientEvent, InputRequired, type MethodParts } from '../../server/internal.ts'
import { NotAnswered, type Relayed } from '../links/relayed.ts'
import { forwardedVia } from '../loops.ts'
import type { ParkedRounds } from '../parking/parkedRounds.ts'
import type { CallInPlace } from '../placement/forwarding.ts'
import type { RecordedCall } from '../telemetry/calls.ts'
import type { CallTarget } from '../telemetry/outcome.ts'
import type { CallState } from './clientState.ts'
import { traceHeaders, withTrace } from '../telemetry/tracing.ts'
import { inTime, whenAbsent } from '../waiting.ts'

interface WayBack {
  /** Headers that mirror arguments. */
  readonly headers?: Relayed['headers'] | undefined
  readonly ask?: Relayed['ask'] | undefined
  readonly state: CallState
}

/** `trace`: the trace fields for the server. */
export function relayedOf({ call, trace }: Pick<RecordedCall, 'call' | 'trace'>, params: Json, more: WayBack): Relayed {
  const { channel, peer, principal, method } = call
  const headers = { ...more.headers, ...traceHeaders(trace), ...forwardedVia(call.header) }
  return {
    method,
    params: withTrace(more.state.request(params), trace),
    peer,
    principal,
    address: call.address ?? channel.address,
    authorization: call.authorization ?? call.header?.('authorization'),
    notify: (notification, details) => channel.notify(notification, details),
    onCancel: (listener) => channel.onCancel(listener),
    presence: () => (channel.isConnected === false ? 'gone' : 'here'),
    headers,
    ask: more.ask,
    caller: more.state.caller,
  }
}

/** Asks a session-era caller on the stream of its call. A caller that does not answer in `withinMs` may be gone. */
export function askerOf({ channel, peer, observer }: Call, withinMs = Infinity): Relayed['ask'] {
  const { push } = channel
  if (push === undefined || peer.era === 'modern') return undefined
  const id = randomUUID() // the call's id, by which answers find it
  let asked = 0
  return async (request: InputRequest) => {
    const key = `question ${++asked}`
    const carried = { key, id, carry: 'process', isBound: true, body: () => ({}) } as const
    const send = (sent: InputRequest): Promise<unknown> => push.call(channel, sent, carried)
    const answer = observer === undefined ? send(request) : observer.pushed(key, request, send)
    return withinMs === Infinity
      ? (answer as Promise<Json>)
      : inTime(answer as Promise<Json>, withinMs, () => new NotAnswered(withinMs))
  }
}

/** The result, or its questions in the form in which a handler asks them. */
export function questionsOr(result: Json): Json | InputRequired {
  const { resultType, inputRequests, requestState } = result
  if (resultType !== 'input_required') return result
  const requests = isObject(inputRequests) ? (inputRequests as Record<string, InputRequest>) : {}
  return new InputRequired(new Map(Object.entries(requests)), requestState)
}

/**
 * Runs the rounds of a session-era caller whose call is parked, here or in another gateway: its questions are asked on
 * the caller's stream. A call that is cancelled or not answered is also cancelled at its server, unless another gateway
 * has claimed it. Returns the text of the result.
 */
export async function runInPlace(parts: MethodParts, parked: ParkedRounds, inPlace: CallInPlace): Promise<string> {
  const { call, server, name, args, round, finish } = inPlace
  let asked: Json = {}
  let isAsking = false
  const report = (event: ClientEvent): void => {
    const { requestState } = asked
    if (requestState === undefined || call.channel.isHandedOff) return
    void parked.report(event, { ...call, params: { ...call.params, requestState } }, { server, name, args })
  }
  const stopWatching = whenAbsent(
    () => isAsking && call.channel.isConnected === false,
    () => report('disconnected'),
  )
  try {
    return await parts.rounds.run<Json>(call, {
      subject: { name: `${server} ${name}`, args: call.params },
      invoke: async ({ requestState, inputResponses }) => {
        isAsking = false
        asked = await round(requestState === undefined ? {} : { requestState, inputResponses })
        isAsking = true
        return questionsOr(asked)
      },
      finish,
    })
  } catch (error) {
    report('cancelled')
    throw error
  } finally {
    stopWatching()
  }
}

/** The mirrored parameters of a tool; none if its schema breaks the rules for them. */
export function mirroredIn(listed: Json | undefined): readonly ParamHeader[] {
  try {
    return isObject(listed?.['inputSchema']) ? findParamHeaders(listed['inputSchema']) : []
  } catch {
    return []
  }
}

/** The headers that mirror arguments of a call. */
export function mirroredHeaders({ listed }: Pick<NamedTarget, 'listed'>, args: unknown): Relayed['headers'] {
  return paramHeaderValues(mirroredIn(listed), args ?? {})
}

interface NamedTarget {
  readonly backend: { readonly name: string }
  readonly name: string
  readonly listed?: Json | undefined
}

/** The target for the records. Addresses of resources may hold secrets, so they are not recorded. */
export function recordedTarget({ method }: Call, { backend, name, listed }: NamedTarget): CallTarget {
  const isNamed = method === 'tools/call' || method === 'prompts/get'
  return { server: backend.name, name: isNamed ? name : undefined, isListed: listed !== undefined }
}

/** The input of a call, for the audit log: the arguments of a tool or prompt, or the address of a resource. */
export function recordedArguments({ arguments: args, uri }: Json): Json | undefined {
  if (isObject(args)) return args
  return uri === undefined ? undefined : { uri }
}
