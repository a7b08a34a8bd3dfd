import { type Findings, methodsOf } from './findings.ts'
import { complaintOf, heardText, isWall } from '../wire/reply.ts'
import type { Method } from '../methods/result.ts'

/** Why nothing is decided, as a sentence that says what is in the way. */
export function whyUnknown(findings: Findings, methods?: readonly Method[]): string {
  const { era: found, initialize } = findings
  if (initialize === undefined) {
    return found === undefined ? findings.metadata.message : `Nothing can be known: it ${heardText(found.heard)}.`
  }
  if (isWall(initialize)) {
    const { status } = initialize.http ?? {}
    const complaint = complaintOf(initialize).trim()
    // It may be about something else than credentials, such as the name that the server was called by.
    const words = complaint === '' ? '' : ` It says: "${complaint}".`
    return `It lets nobody in without the right credentials (HTTP ${status}), so nothing can be known about its sessions.${words}`
  }
  const { sequential: tested, capabilities: score } = methodsOf(findings)
  const isScoreAlone = methods?.length === 1 && methods[0] === 'capabilities'
  if (isScoreAlone && score !== undefined) return `${score.message} The score is never used alone.`
  return tested?.message ?? 'Nothing was found out.'
}
