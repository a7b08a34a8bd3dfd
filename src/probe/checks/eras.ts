import { speaksLegacy, versionsOf } from '../decision/findings.ts'
import { alone } from '../decision/steps.ts'
import { sequentialResult } from '../methods/sequential.ts'
import { evidence } from '../report/evidence.ts'
import { INITIALIZE, LIST_TOOLS } from '../wire/messages.ts'
import { heardText, isResult } from '../wire/reply.ts'
import type { Check } from './check.ts'

/** Which revisions the server speaks, and how that is known. */
export const eraCheck: Check = {
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
    const asked = era === undefined ? '' : `To server/discover it ${heardText(era.heard)}. `
    const spoken = isResult(initialize)
      ? `It speaks a revision with sessions: ${versions.join(', ') || 'unnamed'}.`
      : ''
    return evidence('era', 'UNKNOWN', `${asked}${spoken}`.trim())
  },
}

/** A server of both eras may keep sessions for its older clients. */
export const olderEra: Check = {
  name: 'older-era',
  isUsual: true,
  cost: ({ findings }) =>
    findings.era?.era === 'modern' && findings.transport === 'http' && speaksLegacy(findings) ? 4 : undefined,
  run: async ({ wire }) => {
    const initialize = await alone(wire, INITIALIZE)
    const result = sequentialResult(initialize, await alone(wire, LIST_TOOLS))
    const { state, message } = result
    const sentence = `For clients of older revisions it is ${state}: ${message}`
    return evidence('older-era', state === 'STATEFUL' ? 'STATEFUL' : 'UNKNOWN', sentence, { state })
  },
}
