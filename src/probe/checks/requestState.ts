/**
 * What a server of the stateless revision does with a `requestState` that is not what it should be: changed on the way,
 * sent again, brought by somebody else, or too late. It takes a tool that asks something, and that the user has named.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { isObject, type Json } from '../../protocol/index.ts'
import { type Evidence, evidence } from '../report/evidence.ts'
import { type Heard, heardText, isResult } from '../wire/reply.ts'
import type { HttpWire } from '../wire/http.ts'
import { modernRequest } from '../wire/messages.ts'
import type { Check, Scene } from './check.ts'

const CAPABILITIES = { elicitation: { form: {}, url: {} }, roots: {} }
const FIRST_ID = 20

export const requestState: Check = {
  name: 'request-state',
  isUsual: true,
  cost: ({ wire, findings, options }) =>
    wire.transport === 'http' && findings.era?.era === 'modern' && options.call !== undefined
      ? 4 + Number(options.otherHeaders !== undefined) + Number(options.expireMs !== undefined)
      : undefined,
  run: async (scene) => {
    const { wire, options } = scene
    if (wire.transport !== 'http' || options.call === undefined) return []
    const { name, arguments: args = {} } = options.call
    const params = { name, arguments: args }
    const asked = await wire.post(modernRequest(FIRST_ID, 'tools/call', params, CAPABILITIES))
    const round = isResult(asked) ? roundIn(asked.result) : undefined
    if (round === undefined) {
      const what = isResult(asked) ? 'asks for nothing with a state' : heardText(asked)
      return evidence('request-state', 'UNKNOWN', `The tool ${what}, so its request state cannot be tried.`)
    }
    return tryAll(wire, scene, { ...params, ...round })
  },
}

interface Round {
  readonly requestState: string
  readonly inputResponses: Json
}

/** Each way to send the state again, in an order in which none spoils the next. */
async function tryAll(wire: HttpWire, { options }: Scene, params: Json & Round): Promise<readonly Evidence[]> {
  let id = FIRST_ID
  const send = (more: Json = {}, credentials?: Readonly<Record<string, string>>): Promise<Heard> => {
    const request = modernRequest(++id, 'tools/call', { ...params, ...more }, CAPABILITIES)
    return wire.post(request, {}, credentials === undefined ? {} : { credentials })
  }
  const { otherHeaders, expireMs, signal } = options
  const found = [told('changed', await send({ requestState: changed(params.requestState) }))]
  if (otherHeaders !== undefined) found.push(told('foreign', await send({}, otherHeaders)))
  const once = await send()
  found.push(isRefused(once) ? told('unchanged', once) : told('repeated', await send()))
  if (expireMs !== undefined) {
    await wait(expireMs, undefined, signal && { signal })
    found.push(told('expired', await send()))
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

function told(way: Way, heard: Heard): Evidence {
  const what = isRefused(heard) ? `is refused: it ${heardText(heard)}` : 'is not refused'
  const details = { way, isRefused: isRefused(heard) }
  const [piece] = evidence('request-state', 'UNKNOWN', `A request state ${WAYS[way]} ${what}.`, details)
  return piece
}

/** Starting over in silence is no refusal: the caller would not learn that something is wrong. */
function isRefused(heard: Heard): boolean {
  return heard.kind === 'error' || heard.kind === 'refused'
}

/** What a tool that asks has given, with answers that commit to nothing. */
function roundIn(result: Json): Round | undefined {
  const { resultType, requestState: state, inputRequests } = result
  if (resultType !== 'input_required' || typeof state !== 'string' || state === '') return undefined
  const asked = Object.entries(isObject(inputRequests) ? inputRequests : {})
  return { requestState: state, inputResponses: Object.fromEntries(asked.map(([key, one]) => [key, answerTo(one)])) }
}

function answerTo(asked: unknown): Json {
  return isObject(asked) && asked['method'] === 'roots/list' ? { roots: [] } : { action: 'decline' }
}

/** Another character in the middle: the last one may hold no more than filling bits. */
function changed(state: string): string {
  const at = Math.floor(state.length / 2)
  return state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1)
}
