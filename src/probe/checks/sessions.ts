/** What the steps before have shown about the session id. These send nothing. */
import { evidence } from '../report/evidence.ts'
import { sessionOf } from '../decision/findings.ts'
import { isResult } from '../wire/reply.ts'
import { missesSession } from '../methods/sequential.ts'
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
