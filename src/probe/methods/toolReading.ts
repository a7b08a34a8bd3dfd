/** A listed tool, as the signals read it. */
import { plainLine } from '../../client/index.ts'
import { isObject, type Json } from '../../protocol/index.ts'
import { toolName } from './toolHandles.ts'

export interface ReadTool {
  readonly shown: string
  /** The words of its name, in lower case, joined by single spaces. */
  readonly name: string
  readonly description: string
  readonly parameters: readonly string[]
  readonly isReadOnly: boolean
}

const MAX_DESCRIPTION = 500
const MAX_PARAMETERS = 200

export function readTool(tool: Json): ReadTool {
  const { name, description, inputSchema, annotations } = tool
  const properties = isObject(inputSchema) && isObject(inputSchema['properties']) ? inputSchema['properties'] : {}
  return {
    shown: toolName(tool),
    name: wordsOf(typeof name === 'string' ? plainLine(name, 100) : ''),
    description: typeof description === 'string' ? description.slice(0, MAX_DESCRIPTION) : '',
    parameters: Object.keys(properties).slice(0, MAX_PARAMETERS).map(wordsOf),
    isReadOnly: isObject(annotations) && annotations['readOnlyHint'] === true,
  }
}

/** `browser_tabClose` becomes "browser tab close". */
function wordsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .trim()
    .toLowerCase()
}
