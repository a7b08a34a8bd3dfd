/**
 * Checks of the session id: whether it is given out, required, bound to a connection, deleted, and validated; and which
 * requests are answered without `initialize`.
 */
import { sessionHeaders, sessionOf, type Findings } from '../decision/findings.ts'
import { asksForSession } from '../methods/sequential.ts'
import { evidence, type CheckName, type Evidence } from '../report/evidence.ts'
import { INITIALIZE, INITIALIZED, LIST_TOOLS, request } from '../wire/messages.ts'
import { errorTextOf, replyText, isResult } from '../wire/reply.ts'
import { isUsedUp } from '../decision/rules.ts'
import type { ProbeCheck, ProbeCheckContext } from './check.ts'
import { isObject } from '../../protocol/index.ts'
import { onNewConnection } from '../wire/connection.ts'

/** From the findings; sends nothing. */
export const sessionIssued: ProbeCheck = {
  name: 'session-issued',
  isUsual: true,
  cost: ({ findings: { transport, initialize } }) => (transport === 'http' && isResult(initialize) ? 0 : undefined),
  run: ({ findings }) => {
    const session = sessionOf(findings)
    return session === undefined
      ? evidence('session-issued', 'UNKNOWN', 'initialize gives out no session id.')
      : evidence('session-issued', 'UNKNOWN', 'initialize gives out a session id.', { characters: session.length })
  },
}

/** From the findings; sends nothing. */
export const sessionRequired: ProbeCheck = {
  name: 'session-required',
  isUsual: true,
  cost: ({ findings }) => (sessionOf(findings) === undefined || findings.bareList === undefined ? undefined : 0),
  run: ({ findings: { bareList, barePing } }) => {
    if (isResult(bareList) && barePing !== undefined && asksForSession(barePing)) {
      const sentence = 'The session id is required: without it tools/list is answered, but ping is refused.'
      return evidence('session-required', 'STATEFUL', sentence)
    }
    if (isResult(bareList)) {
      return evidence(
        'session-required',
        'STATELESS',
        'The session id is not required: without it tools/list is answered.',
      )
    }
    return bareList !== undefined && asksForSession(bareList)
      ? evidence('session-required', 'STATEFUL', 'The session id is required: without it tools/list is refused.')
      : evidence('session-required', 'UNKNOWN', 'Whether the session id is required remains open.')
  },
}

/** Whether a session works on a second connection. */
export const secondConnection: ProbeCheck = {
  name: 'second-connection',
  isUsual: true,
  cost: ({ findings }) => (sessionOf(findings) === undefined ? undefined : findings.control === undefined ? 2 : 0),
  run: async (context) => {
    const { wire, findings } = context
    if (wire.transport !== 'http') return []
    const headers = sessionHeaders(findings)
    if (findings.control === undefined) await wire.post(INITIALIZED, headers)
    const reply = findings.control ?? (await wire.post(LIST_TOOLS, headers))
    context.second = reply
    return isResult(reply)
      ? evidence('second-connection', 'UNKNOWN', 'The session is accepted from a second connection.')
      : evidence('second-connection', 'STATEFUL', `From a second connection with the session it ${replyText(reply)}.`)
  },
}

/** The error of a server whose only session has begun. */
const MISSING_HEADER = /mcp-session-id header is required/i

/** Whether a second session can begin, if the server's declarations raise doubts. */
export const oneSession: ProbeCheck = {
  name: 'one-session',
  isUsual: true,
  cost: ({ findings }) => {
    const { bareList } = findings
    const isSuspect = bareList !== undefined && MISSING_HEADER.test(errorTextOf(bareList))
    return sessionOf(findings) !== undefined && isSuspect ? 2 : undefined
  },
  run: async ({ wire }) => {
    if (wire.transport !== 'http') return []
    const reply = await wire.post(INITIALIZE)
    if (!isUsedUp(reply)) return evidence('one-session', 'UNKNOWN', 'A second session can begin.')
    const sentence =
      'It allows one session in its life, and the probe has begun that: start it again before it is used.'
    return evidence('one-session', 'STATEFUL', sentence, { isUsedUp: true })
  },
}

/** Whether a session id still works after DELETE. */
export const afterDelete: ProbeCheck = {
  name: 'after-delete',
  isUsual: true,
  cost: ({ findings }) => (sessionOf(findings) === undefined ? undefined : 1),
  run: async ({ wire, findings }) => {
    if (wire.transport !== 'http') return []
    const { 'mcp-session-id': session = '', ...headers } = sessionHeaders(findings)
    const status = await wire.endSession(session, headers)
    const reply = await wire.post(LIST_TOOLS, sessionHeaders(findings))
    const deleted = `DELETE of the session is answered with ${status ?? 'nothing'}`
    return isResult(reply)
      ? evidence('after-delete', 'UNKNOWN', `${deleted}, and its id still works.`, { status, isEnded: false })
      : evidence('after-delete', 'UNKNOWN', `${deleted}; then it ${replyText(reply)}.`, { status, isEnded: true })
  },
}

const INVENTED = 'invented-by-the-probe'

/** Whether a session id that no server gave out is accepted. */
export const inventedSession: ProbeCheck = {
  name: 'invented-session',
  isUsual: true,
  cost: ({ findings: { transport, initialize } }) => (transport === 'http' && isResult(initialize) ? 1 : undefined),
  run: async ({ wire, findings }) => {
    if (wire.transport !== 'http') return []
    const reply = await wire.post(LIST_TOOLS, { ...sessionHeaders(findings), 'mcp-session-id': INVENTED })
    return isResult(reply)
      ? evidence(
          'invented-session',
          'STATELESS',
          'A session id that was made up is accepted, so the server does not look it up.',
        )
      : evidence('invented-session', 'UNKNOWN', `With a session id that was made up it ${replyText(reply)}.`)
  },
}

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
