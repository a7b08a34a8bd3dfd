/** State that a server keeps under ids that it gives out: tasks, and handles of its tools. These checks send nothing. */
import { isObject, type Json, TASKS_EXTENSION } from '../../protocol/index.ts'
import { evidence } from '../report/evidence.ts'
import { selfDescriptionOf, type Findings, toolsOf } from '../decision/findings.ts'
import { handlesIn, MAX_SHOWN, toolName } from '../methods/toolHandles.ts'
import type { ProbeCheck } from './check.ts'

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
