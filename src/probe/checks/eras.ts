import { speaksLegacy, versionsOf } from '../decision/findings.ts'
import { onNewConnection } from '../wire/connection.ts'
import { sequentialResult } from '../methods/sequential.ts'
import { evidence } from '../report/evidence.ts'
import { INITIALIZE, LIST_TOOLS } from '../wire/messages.ts'
import { replyText, isResult } from '../wire/reply.ts'
import type { ProbeCheck } from './check.ts'

/** Which revisions the server supports, and how that is known. */
export const eraCheck: ProbeCheck = {
  name: 'era',
  isUsual: true,
  cost: ({ findings }) => (findings.era === undefined ? undefined : 0),
  run: ({ findings }) => {
    const { era, initialize } = findings
    const versions = versionsOf(findings)
    if (era?.era === 'modern') {
      return evidence(
        'era',
        'STATELESS',
        `It speaks ${versions.join(', ')}; a revision since 2026-07-28 has no sessions.`,
      )
    }
    const asked = era === undefined ? '' : `To server/discover it ${replyText(era.reply)}. `
    const spoken = isResult(initialize)
      ? `It speaks a revision with sessions: ${versions.join(', ') || 'unnamed'}.`
      : ''
    return evidence('era', 'UNKNOWN', `${asked}${spoken}`.trim())
  },
}

/** A server of both eras may need sessions for clients of older revisions. */
export const olderEra: ProbeCheck = {
  name: 'older-era',
  isUsual: true,
  cost: ({ findings }) =>
    findings.era?.era === 'modern' && findings.transport === 'http' && speaksLegacy(findings) ? 4 : undefined,
  run: async ({ wire }) => {
    const initialize = await onNewConnection(wire, INITIALIZE)
    const result = sequentialResult(initialize, await onNewConnection(wire, LIST_TOOLS))
    const { state, message } = result
    const sentence = `For clients of older revisions it is ${state}: ${message}`
    return evidence('older-era', state === 'STATEFUL' ? 'STATEFUL' : 'UNKNOWN', sentence, { state })
  },
}
