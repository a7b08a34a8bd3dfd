import { isObject, type Json } from '../../protocol/index.ts'
import type { TaskOptions } from '../catalog/definitions.ts'

interface TaskEntry {
  readonly listed: Json
  readonly task?: TaskOptions | undefined
}

/**
 * Revision 2025-11-25 lists with each tool whether it runs as a task, and its clients do not call one that must; 2026-07-28 does not. Its output schemas describe objects only, and its clients refuse the whole list for any other schema.
 */
export function legacyListed({ listed, task }: TaskEntry, callsWait: boolean): Json {
  const { outputSchema, ...rest } = listed
  const known = outputSchema === undefined || isLegacyOutput(outputSchema) ? listed : rest
  if (task?.task === undefined) return known
  return { ...known, execution: { taskSupport: callsWait ? 'optional' : task.task } }
}

function isLegacyOutput(schema: unknown): boolean {
  if (!isObject(schema) || schema['type'] !== 'object') return false
  const { properties = {}, required = [] } = schema
  if (!isObject(properties) || !Array.isArray(required)) return false
  return Object.values(properties).every(isObject) && required.every((name) => typeof name === 'string')
}
