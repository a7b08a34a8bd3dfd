/** What becomes of a session that is over, and of one that never was. */
import { evidence } from '../report/evidence.ts'
import { sessionHeaders, sessionOf } from '../decision/findings.ts'
import { heardText, isResult } from '../wire/reply.ts'
import { LIST_TOOLS } from '../wire/messages.ts'
import type { Check } from './check.ts'

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
