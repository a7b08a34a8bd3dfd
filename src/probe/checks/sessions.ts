/** What the steps before have shown about the session id. These send nothing. */
import { sessionHeaders, sessionOf } from '../decision/findings.ts'
import { missesSession } from '../methods/sequential.ts'
import { evidence } from '../report/evidence.ts'
import { INITIALIZED, LIST_TOOLS } from '../wire/messages.ts'
import { heardText, isResult } from '../wire/reply.ts'
import type { Check } from './check.ts'

export const sessionIssued: Check = {
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

export const sessionRequired: Check = {
  name: 'session-required',
  isUsual: true,
  cost: ({ findings }) => (sessionOf(findings) === undefined || findings.bareList === undefined ? undefined : 0),
  run: ({ findings: { bareList, barePing } }) => {
    if (isResult(bareList) && barePing !== undefined && missesSession(barePing)) {
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
    return bareList !== undefined && missesSession(bareList)
      ? evidence('session-required', 'STATEFUL', 'The session id is required: without it tools/list is refused.')
      : evidence('session-required', 'UNKNOWN', 'It cannot be told whether the session id is required.')
  },
}

/** Whether a session belongs to the connection that it began on. */
export const secondConnection: Check = {
  name: 'second-connection',
  isUsual: true,
  cost: ({ findings }) => (sessionOf(findings) === undefined ? undefined : findings.control === undefined ? 2 : 0),
  run: async (scene) => {
    const { wire, findings } = scene
    if (wire.transport !== 'http') return []
    const headers = sessionHeaders(findings)
    if (findings.control === undefined) await wire.post(INITIALIZED, headers)
    const heard = findings.control ?? (await wire.post(LIST_TOOLS, headers))
    scene.second = heard
    return isResult(heard)
      ? evidence('second-connection', 'UNKNOWN', 'The session is accepted from a second connection.')
      : evidence('second-connection', 'STATEFUL', `From a second connection with the session it ${heardText(heard)}.`)
  },
}

/** What becomes of a session that is over, and of one that never was. */

export const afterDelete: Check = {
  name: 'after-delete',
  isUsual: true,
  cost: ({ findings }) => (sessionOf(findings) === undefined ? undefined : 1),
  run: async ({ wire, findings }) => {
    if (wire.transport !== 'http') return []
    const { 'mcp-session-id': session = '', ...headers } = sessionHeaders(findings)
    const status = await wire.endSession(session, headers)
    const heard = await wire.post(LIST_TOOLS, sessionHeaders(findings))
    const deleted = `DELETE of the session is answered with ${status ?? 'nothing'}`
    return isResult(heard)
      ? evidence('after-delete', 'UNKNOWN', `${deleted}, and its id still works.`, { status, isEnded: false })
      : evidence('after-delete', 'UNKNOWN', `${deleted}; then it ${heardText(heard)}.`, { status, isEnded: true })
  },
}

const INVENTED = 'invented-by-the-probe'

export const inventedSession: Check = {
  name: 'invented-session',
  isUsual: true,
  cost: ({ findings: { transport, initialize } }) => (transport === 'http' && isResult(initialize) ? 1 : undefined),
  run: async ({ wire, findings }) => {
    if (wire.transport !== 'http') return []
    const heard = await wire.post(LIST_TOOLS, { ...sessionHeaders(findings), 'mcp-session-id': INVENTED })
    return isResult(heard)
      ? evidence('invented-session', 'STATELESS', 'A session id that was made up is accepted, so nobody looks it up.')
      : evidence('invented-session', 'UNKNOWN', `With a session id that was made up it ${heardText(heard)}.`)
  },
}
