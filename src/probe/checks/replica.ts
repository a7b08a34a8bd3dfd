import { evidence } from '../report/evidence.ts'
import { isServed, sessionHeaders, sessionOf } from '../decision/findings.ts'
import { heardText, isResult } from '../wire/reply.ts'
import { LIST_TOOLS, modernRequest } from '../wire/messages.ts'
import { type Place, placeText } from '../wire/httpRequest.ts'
import type { Check, Scene } from './check.ts'

/** Whether another instance serves what this one began: those that are named, or the addresses of the server's name. */
export const replica: Check = {
  name: 'replica',
  isUsual: true,
  cost: ({ findings, options }) => (isServed(findings) ? options.replicas.length || undefined : undefined),
  run: async (scene) => {
    if (scene.wire.transport !== 'http') return []
    const named = scene.options.replicas.map((url): Place => ({ url }))
    return (await Promise.all(named.map((place) => at(place, scene)))).flat()
  },
}

/** The same where nobody named a replica: a name may have several addresses. */
export const addresses: Check = {
  ...replica,
  isUsual: false,
  cost: ({ findings, options }) => (isServed(findings) && options.replicas.length === 0 ? MAX_ADDRESSES : undefined),
  run: async (scene) => {
    if (scene.wire.transport !== 'http') return []
    const places = (await scene.wire.addresses()).slice(0, MAX_ADDRESSES)
    if (places.length === 0)
      return evidence('replica', 'UNKNOWN', 'Its name has one address, so there is no other to ask.')
    return (await Promise.all(places.map((place) => at(place, scene)))).flat()
  },
}

const MAX_ADDRESSES = 4

async function at(place: Place, { wire, findings }: Scene) {
  if (wire.transport !== 'http') return []
  const isModern = findings.era?.era === 'modern'
  const request = isModern ? modernRequest(5, 'tools/list') : LIST_TOOLS
  const heard = await wire.post(request, isModern ? {} : sessionHeaders(findings), { place })
  const what = sessionOf(findings) === undefined ? 'A request' : 'The session'
  const where = placeText(place)
  return isResult(heard)
    ? evidence('replica', 'UNKNOWN', `${what} is accepted by ${where}.`, { replica: where, isAccepted: true })
    : evidence('replica', 'STATEFUL', `${what} is not accepted by ${where}: it ${heardText(heard)}.`, {
        replica: where,
        isAccepted: false,
      })
}
