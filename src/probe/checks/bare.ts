/** Which other requests are answered on a connection without `initialize`. */
import { isObject } from '../../protocol/index.ts'
import { type CheckName, type Evidence, evidence } from '../report/evidence.ts'
import type { Findings } from '../decision/findings.ts'
import { replyText, isResult } from '../wire/reply.ts'
import { request } from '../wire/messages.ts'
import { asksForSession } from '../methods/sequential.ts'
import { onNewConnection } from '../wire/connection.ts'
import type { ProbeCheck, ProbeCheckContext } from './check.ts'

/** Usual over HTTP only: over stdio each takes a new process. */
export const bareLists: readonly ProbeCheck[] = (['http', 'stdio'] as const).flatMap((transport) => [
  bareList('bare-prompts', 'prompts', 6, transport),
  bareList('bare-resources', 'resources', 7, transport),
])

export const bareCall: ProbeCheck = {
  name: 'bare-call',
  isUsual: true,
  cost: ({ findings, options }) => (options.call === undefined || !isInitialized(findings) ? undefined : 2),
  run: async (context) => {
    const { name = '', arguments: args = {} } = context.options.call ?? {}
    return sendWithoutInitialize('bare-call', context, request(8, 'tools/call', { name, arguments: args }))
  },
}

function bareList(name: CheckName, capability: string, id: number, transport: 'http' | 'stdio'): ProbeCheck {
  return {
    name,
    isUsual: transport === 'http',
    // Two requests: the first may begin a session, which the second ends.
    cost: ({ findings }) =>
      findings.transport === transport && isInitialized(findings) && offers(findings, capability) ? 2 : undefined,
    run: (context) => sendWithoutInitialize(name, context, request(id, `${capability}/list`)),
  }
}

async function sendWithoutInitialize(
  check: CheckName,
  { wire }: ProbeCheckContext,
  asked: ReturnType<typeof request>,
): Promise<readonly Evidence[]> {
  const reply = await onNewConnection(wire, asked)
  if (isResult(reply)) return evidence(check, 'STATELESS', `It answers ${asked.method} without initialize.`)
  const points = asksForSession(reply) ? 'STATEFUL' : 'UNKNOWN'
  return evidence(check, points, `To ${asked.method} without initialize it ${replyText(reply)}.`)
}

function isInitialized({ era, initialize }: Findings): boolean {
  return era?.era !== 'modern' && isResult(initialize)
}

function offers({ initialize }: Findings, capability: string): boolean {
  const capabilities = isResult(initialize) ? initialize.result['capabilities'] : undefined
  return isObject(capabilities) && isObject(capabilities[capability])
}
