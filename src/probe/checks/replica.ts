/** Whether an instance accepts the session, state or answer of another one. */
import { type Evidence, evidence } from '../report/evidence.ts'
import { isServed } from '../decision/findings.ts'
import { type ProbedInstance, instanceText } from '../wire/httpRequest.ts'
import {
  beginSession,
  type SharedSession,
  takeAnswer,
  takeNothing,
  takeSession,
  takeState,
  type Tried,
} from './carried.ts'
import type { ProbeCheck, ProbeCheckContext } from './check.ts'

/** For the replicas that were named. */
export const replica: ProbeCheck = {
  name: 'replica',
  isUsual: true,
  cost: (context) => costOf(context, context.options.replicas.length),
  run: (context) =>
    tryAll(
      context.options.replicas.map((url) => ({ url })),
      context,
    ),
}

/** The same for each IP address of the server's name, where no replica was named. */
export const addresses: ProbeCheck = {
  ...replica,
  isUsual: false,
  cost: (context) => (context.options.replicas.length === 0 ? costOf(context, MAX_ADDRESSES) : undefined),
  run: async (context) => {
    if (context.wire.transport !== 'http') return []
    const instances = (await context.wire.instances()).slice(0, MAX_ADDRESSES)
    if (instances.length === 0)
      return evidence('replica', 'UNKNOWN', 'Its name has one address, so there is no other to ask.')
    return tryAll(instances, context)
  },
}

const MAX_ADDRESSES = 4
/** A session is begun, and ended. */
const SESSION_COST = 3
/** A call is begun, answered elsewhere, and cancelled; and the same with a request state, which needs no end. */
const CALL_COST = 5

function costOf({ findings, options }: ProbeCheckContext, instances: number): number | undefined {
  if (!isServed(findings) || instances === 0) return undefined
  const isBegun = needsSession(findings, options) ? SESSION_COST : 0
  return isBegun + instances * (options.call === undefined ? 1 : 1 + CALL_COST)
}

/** Whether the verdict's session cannot be used: it is missing, or the server may not ask in it. */
function needsSession(findings: ProbeCheckContext['findings'], { call }: ProbeCheckContext['options']): boolean {
  return findings.era?.era === 'modern' || call !== undefined
}

async function tryAll(instances: readonly ProbedInstance[], context: ProbeCheckContext): Promise<readonly Evidence[]> {
  const session = await beginSession(context, needsSession(context.findings, context.options))
  return (await Promise.all(instances.map((instance) => tryAt(instance, session, context)))).flat()
}

async function tryAt(
  instance: ProbedInstance,
  session: SharedSession | undefined,
  context: ProbeCheckContext,
): Promise<readonly Evidence[]> {
  const { call } = context.options
  const tried: (Tried | undefined)[] = [session && (await takeSession(instance, session, context))]
  const isSessionRefused = tried[0]?.why !== undefined
  if (call !== undefined && context.findings.era?.era === 'modern') tried.push(await takeState(instance, call, context))
  if (call !== undefined && session !== undefined && !isSessionRefused)
    tried.push(await takeAnswer(instance, call, session, context))
  const all = tried.filter((one) => one !== undefined)
  return (all.length > 0 ? all : [await takeNothing(instance, context)]).map((one) => piece(instance, one))
}

const ACCEPTED: Readonly<Record<Tried['taken'], (where: string) => string>> = {
  session: (where) => `The session is accepted by ${where}.`,
  'request-state': (where) => `A request state that was given out here is accepted by ${where}.`,
  answer: (where) => `An answer that came to ${where} reached the call that asked here.`,
  request: (where) =>
    `A request is answered by ${where}. Nothing was taken there that was given out here: name a tool that asks for input (--call).`,
}

const REFUSED: Readonly<Record<Tried['taken'], (where: string) => string>> = {
  session: (where) => `The session is not accepted by ${where}`,
  'request-state': (where) => `A request state that was given out here is not accepted by ${where}`,
  answer: (where) => `An answer that came to ${where} did not reach the call that asked here`,
  request: (where) => `A request is not accepted by ${where}`,
}

function piece(instance: ProbedInstance, { taken, why, isDeclared }: Tried): Evidence {
  const where = instanceText(instance)
  const isAccepted = why === undefined
  const details = { replica: where, taken, isAccepted, ...(isDeclared !== undefined && { isDeclared }) }
  const [found] = isAccepted
    ? evidence('replica', 'UNKNOWN', ACCEPTED[taken](where), details)
    : evidence('replica', 'STATEFUL', `${REFUSED[taken](where)}: it ${why}.`, details)
  return found
}
