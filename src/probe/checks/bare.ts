/** What else is answered on a connection that never saw `initialize`. */
import { isObject } from '../../protocol/index.ts'
import { type CheckName, type Evidence, evidence } from '../report/evidence.ts'
import type { Findings } from '../decision/findings.ts'
import { heardText, isResult } from '../wire/reply.ts'
import { request } from '../wire/messages.ts'
import { missesSession } from '../methods/sequential.ts'
import { alone } from '../decision/steps.ts'
import type { Check, Scene } from './check.ts'

/** Over HTTP it is a request; of a program it is a process for each, which has to be asked for. */
export const bareLists: readonly Check[] = (['http', 'stdio'] as const).flatMap((transport) => [
  bareList('bare-prompts', 'prompts', 6, transport),
  bareList('bare-resources', 'resources', 7, transport),
])

export const bareCall: Check = {
  name: 'bare-call',
  isUsual: true,
  cost: ({ findings, options }) => (options.call === undefined || !isLegacy(findings) ? undefined : 2),
  run: async (scene) => {
    const { name = '', arguments: args = {} } = scene.options.call ?? {}
    return bare('bare-call', scene, request(8, 'tools/call', { name, arguments: args }))
  },
}

function bareList(name: CheckName, capability: string, id: number, transport: 'http' | 'stdio'): Check {
  return {
    name,
    isUsual: transport === 'http',
    // Two, because a request may begin a session.
    cost: ({ findings }) =>
      findings.transport === transport && isLegacy(findings) && offers(findings, capability) ? 2 : undefined,
    run: (scene) => bare(name, scene, request(id, `${capability}/list`)),
  }
}

async function bare(
  check: CheckName,
  { wire }: Scene,
  asked: ReturnType<typeof request>,
): Promise<readonly Evidence[]> {
  const heard = await alone(wire, asked)
  if (isResult(heard)) return evidence(check, 'STATELESS', `It answers ${asked.method} without initialize.`)
  const points = missesSession(heard) ? 'STATEFUL' : 'UNKNOWN'
  return evidence(check, points, `To ${asked.method} without initialize it ${heardText(heard)}.`)
}

function isLegacy({ era, initialize }: Findings): boolean {
  return era?.era !== 'modern' && isResult(initialize)
}

function offers({ initialize }: Findings, capability: string): boolean {
  const capabilities = isResult(initialize) ? initialize.result['capabilities'] : undefined
  return isObject(capabilities) && isObject(capabilities[capability])
}
