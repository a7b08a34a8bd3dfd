/**
 * The reaction of a stateless server to a `requestState` that was changed, sent twice, sent by another user, or has
 * expired. It needs a tool that asks for input, and that the caller has named as safe to call.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Json } from '../../protocol/index.ts'
import { type Evidence, evidence } from '../report/evidence.ts'
import { type ProbeReply, replyText, isResult } from '../wire/reply.ts'
import type { HttpWire } from '../wire/http.ts'
import { modernRequest } from '../wire/messages.ts'
import { ASKABLE, roundIn, type StateRound } from './carried.ts'
import type { ProbeCheck, ProbeCheckContext } from './check.ts'

const FIRST_ID = 20

export const requestState: ProbeCheck = {
  name: 'request-state',
  isUsual: true,
  cost: ({ wire, findings, options }) =>
    wire.transport === 'http' && findings.era?.era === 'modern' && options.call !== undefined
      ? 4 + Number(options.otherHeaders !== undefined) + Number(options.expireMs !== undefined)
      : undefined,
  run: async (context) => {
    const { wire, options } = context
    if (wire.transport !== 'http' || options.call === undefined) return []
    const { name, arguments: args = {} } = options.call
    const params = { name, arguments: args }
    const asked = await wire.post(modernRequest(FIRST_ID, 'tools/call', params, ASKABLE))
    const round = isResult(asked) ? roundIn(asked.result) : undefined
    if (round === undefined) {
      const what = isResult(asked) ? 'asks for nothing with a state' : replyText(asked)
      return evidence('request-state', 'UNKNOWN', `The tool ${what}, so its request state cannot be tried.`)
    }
    return tryAll(wire, context, { ...params, ...round })
  },
}

/** Sends the state in each way, in an order in which no attempt uses up the state for the next. */
async function tryAll(
  wire: HttpWire,
  { options }: ProbeCheckContext,
  params: Json & StateRound,
): Promise<readonly Evidence[]> {
  let id = FIRST_ID
  const send = (more: Json = {}, credentials?: Readonly<Record<string, string>>): Promise<ProbeReply> => {
    const request = modernRequest(++id, 'tools/call', { ...params, ...more }, ASKABLE)
    return wire.post(request, {}, credentials === undefined ? {} : { credentials })
  }
  const { otherHeaders, expireMs, signal } = options
  const found = [evidenceFor('changed', await send({ requestState: withOneCharacterChanged(params.requestState) }))]
  if (otherHeaders !== undefined) found.push(evidenceFor('foreign', await send({}, otherHeaders)))
  const once = await send()
  found.push(isRefused(once) ? evidenceFor('unchanged', once) : evidenceFor('repeated', await send()))
  if (expireMs !== undefined) {
    await wait(expireMs, undefined, signal && { signal })
    found.push(evidenceFor('expired', await send()))
  }
  return found
}

type Way = 'changed' | 'foreign' | 'unchanged' | 'repeated' | 'expired'

const WAYS: Readonly<Record<Way, string>> = {
  changed: 'that was changed',
  foreign: 'brought by somebody else',
  unchanged: 'as it was given out',
  repeated: 'sent a second time',
  expired: 'that should have expired',
}

function evidenceFor(way: Way, reply: ProbeReply): Evidence {
  const what = isRefused(reply) ? `is refused: it ${replyText(reply)}` : 'is not refused'
  const details = { way, isRefused: isRefused(reply) }
  const [piece] = evidence('request-state', 'UNKNOWN', `A request state ${WAYS[way]} ${what}.`, details)
  return piece
}

/** A restart of the call without an error is no refusal: the client would not learn that something is wrong. */
function isRefused(reply: ProbeReply): boolean {
  return reply.kind === 'error' || reply.kind === 'refused'
}

/** Changes a character in the middle: in base64, the last one may hold only padding bits. */
function withOneCharacterChanged(state: string): string {
  const at = Math.floor(state.length / 2)
  return state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1)
}
