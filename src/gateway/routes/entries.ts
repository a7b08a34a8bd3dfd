/** Entries of a route in the registry of its server. They have no handlers: the methods of the route relay calls. */
import { isObject, type Json } from '../../protocol/index.ts'
import { taskSupportOf } from './tasks/source.ts'
import type { PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from '../../server/internal.ts'

const open = { access: undefined, carry: undefined } as const

function relayed(): never {
  throw new TypeError('A route has no handlers.')
}

/** Only the session era lists whether a tool runs as a task, so the registry keeps that beside the tool. */
export function toolEntry(name: string, tool: Json): ToolEntry {
  const { execution: _, ...listed } = tool
  const support = taskSupportOf(tool)
  const task = support === 'never' ? undefined : { task: support }
  const none = { input: undefined, output: undefined, mirrored: [] }
  return { ...open, ...none, task, name, listed, handler: relayed }
}

export function promptEntry(name: string, listed: Json): PromptEntry {
  return { ...open, name, listed, input: undefined, handler: relayed }
}

export function resourceEntry(uri: string, listed: Json): ResourceEntry {
  return { ...open, uri, listed, options: { name: nameIn(listed) }, handler: relayed }
}

export function templateEntry(source: string, listed: Json): TemplateEntry {
  const start = fixedStart(source)
  const match = (uri: string): Record<string, string> | undefined => (uri.startsWith(start) ? {} : undefined)
  return {
    ...open,
    template: { source, variables: [], match },
    listed,
    options: { name: nameIn(listed) },
    handler: relayed,
  }
}

function nameIn(listed: Json): string {
  return isObject(listed) && typeof listed['name'] === 'string' ? listed['name'] : ''
}

/** The literal start of a template. */
export function fixedStart(template: string): string {
  const at = template.indexOf('{')
  return at < 0 ? template : template.slice(0, at)
}
