import { evidence } from '../report/evidence.ts'
import { versionsOf } from '../decision/findings.ts'
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
