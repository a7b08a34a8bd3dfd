/** Checks of a server's declarations: its revisions, its tasks, and the handles of its tools. */
import { versionsOf, selfDescriptionOf, type Findings, toolsOf } from '../decision/findings.ts'
import { onNewConnection } from '../wire/connection.ts'
import { sequentialResult } from '../methods/sequential.ts'
import { evidence } from '../report/evidence.ts'
import { INITIALIZE, LIST_TOOLS } from '../wire/messages.ts'
import { replyText, isResult } from '../wire/reply.ts'
import type { ProbeCheck } from './check.ts'
import { isObject, type Json, TASKS_EXTENSION } from '../../protocol/index.ts'
import { handlesIn, MAX_SHOWN, toolName } from '../methods/toolHandles.ts'

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

/**
 * A server of both eras may need sessions for clients of older revisions. `server/discover` does not have to name
 * session-era revisions: it lists revisions for requests of its own era.
 */
export const olderEra: ProbeCheck = {
  name: 'older-era',
  isUsual: true,
  cost: ({ findings: { era, transport } }) => (era?.era === 'modern' && transport === 'http' ? 4 : undefined),
  run: async ({ wire }) => {
    const initialize = await onNewConnection(wire, INITIALIZE)
    if (!isResult(initialize)) return []
    const result = sequentialResult(initialize, await onNewConnection(wire, LIST_TOOLS))
    const { state, message } = result
    const sentence = `For clients of older revisions it is ${state}: ${message}`
    return evidence('older-era', state === 'STATEFUL' ? 'STATEFUL' : 'UNKNOWN', sentence, { state })
  },
}

/** Tasks are state that is kept under ids. */
export const tasks: ProbeCheck = {
  name: 'tasks',
  isUsual: true,
  cost: ({ findings }) => (offersTasks(findings) ? 0 : undefined),
  run: ({ findings }) => {
    const tools = listedTools(findings).filter(runsAsTask).slice(0, MAX_SHOWN).map(toolName)
    const which = tools.length === 0 ? '' : `, by ${tools.join(', ')}`
    const sentence = `It declares tasks${which}: their state is kept under their ids.`
    return evidence('tasks', 'UNKNOWN', sentence, { tools })
  },
}

/** So are the handles that tools give out. */
export const handles: ProbeCheck = {
  name: 'handles',
  isUsual: true,
  cost: ({ findings }) => (handlesIn(listedTools(findings)).length > 0 ? 0 : undefined),
  run: ({ findings }) =>
    handlesIn(listedTools(findings)).flatMap(({ handle, from, to }) => {
      const sentence = `${from.join(', ')} returns "${handle}", which ${to.join(', ')} requires: state is kept under it.`
      return evidence('handles', 'UNKNOWN', sentence, { handle, from, to })
    }),
}

function listedTools(findings: Findings): readonly Json[] {
  return toolsOf(findings) ?? []
}

function offersTasks(findings: Findings): boolean {
  const capabilities = selfDescriptionOf(findings)?.['capabilities']
  if (!isObject(capabilities)) return false
  const { tasks: older, extensions } = capabilities
  return isObject(older) || (isObject(extensions) && isObject(extensions[TASKS_EXTENSION]))
}

function runsAsTask({ execution }: Json): boolean {
  return isObject(execution) && (execution['taskSupport'] === 'required' || execution['taskSupport'] === 'optional')
}
