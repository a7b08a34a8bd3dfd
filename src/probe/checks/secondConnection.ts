import { evidence } from '../report/evidence.ts'
import { sessionHeaders, sessionOf } from '../decision/findings.ts'
import { heardText, isResult } from '../wire/reply.ts'
import { INITIALIZED, LIST_TOOLS } from '../wire/messages.ts'
import type { Check } from './check.ts'

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
