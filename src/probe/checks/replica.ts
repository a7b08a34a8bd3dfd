import { evidence } from '../report/evidence.ts'
import { isServed, sessionHeaders, sessionOf } from '../decision/findings.ts'
import { replyText, isResult } from '../wire/reply.ts'
import { LIST_TOOLS, modernRequest } from '../wire/messages.ts'
import { type ProbedInstance, instanceText } from '../wire/httpRequest.ts'
import type { ProbeCheck, ProbeCheckContext } from './check.ts'

/** Whether the replicas that were named accept a session that began on this instance. */
export const replica: ProbeCheck = {
  name: 'replica',
  isUsual: true,
  cost: ({ findings, options }) => (isServed(findings) ? options.replicas.length || undefined : undefined),
  run: async (context) => {
    if (context.wire.transport !== 'http') return []
    const named = context.options.replicas.map((url): ProbedInstance => ({ url }))
    return (await Promise.all(named.map((instance) => askInstance(instance, context)))).flat()
  },
}

/** The same for each IP address of the server's name, where no replica was named. */
export const addresses: ProbeCheck = {
  ...replica,
  isUsual: false,
  cost: ({ findings, options }) => (isServed(findings) && options.replicas.length === 0 ? MAX_ADDRESSES : undefined),
  run: async (context) => {
    if (context.wire.transport !== 'http') return []
    const instances = (await context.wire.instances()).slice(0, MAX_ADDRESSES)
    if (instances.length === 0)
      return evidence('replica', 'UNKNOWN', 'Its name has one address, so there is no other to ask.')
    return (await Promise.all(instances.map((instance) => askInstance(instance, context)))).flat()
  },
}

const MAX_ADDRESSES = 4

async function askInstance(instance: ProbedInstance, { wire, findings }: ProbeCheckContext) {
  if (wire.transport !== 'http') return []
  const isModern = findings.era?.era === 'modern'
  const request = isModern ? modernRequest(5, 'tools/list') : LIST_TOOLS
  const reply = await wire.post(request, isModern ? {} : sessionHeaders(findings), { instance })
  const what = sessionOf(findings) === undefined ? 'A request' : 'The session'
  const where = instanceText(instance)
  return isResult(reply)
    ? evidence('replica', 'UNKNOWN', `${what} is accepted by ${where}.`, { replica: where, isAccepted: true })
    : evidence('replica', 'STATEFUL', `${what} is not accepted by ${where}: it ${replyText(reply)}.`, {
        replica: where,
        isAccepted: false,
      })
}
