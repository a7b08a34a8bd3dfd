/**
 * `"catalogue": "search"`: three tools in place of all. A model finds tools by words, reads the definition of the one
 * it wants, and calls it by name, so its context holds only the definitions that it uses.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import { createRanking, type RankedField, type Ranking } from './ranking.ts'

export const FIND_TOOL = 'find_tools'
export const DESCRIBE_TOOL = 'describe_tool'
export const CALL_TOOL = 'call_tool'

const DEFAULT_FOUND = 10
const MAX_FOUND = 100
const MAX_SUMMARY = 240
// Only the beginning of a long text is searched.
const MAX_SEARCHED = 2000
const MAX_QUERY = 1000

const READS_ONLY = { readOnlyHint: true, idempotentHint: true, openWorldHint: false }
const NAME = { type: 'string', description: `The name of the tool, as ${FIND_TOOL} gives it.` }

/** The definitions of the three tools. */
export const SEARCH_TOOLS: readonly Json[] = [
  {
    name: FIND_TOOL,
    title: 'Find tools',
    description: `Finds tools by words: what they do, what they are about, which server has them. Then read the definition of a tool with ${DESCRIBE_TOOL}, and call it with ${CALL_TOOL}.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          maxLength: MAX_QUERY,
          description: 'Words that describe the tool. Empty for the first tools of all.',
        },
        limit: { type: 'integer', minimum: 1, maximum: MAX_FOUND, default: DEFAULT_FOUND },
      },
      required: ['query'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        tools: {
          type: 'array',
          items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        },
        found: { type: 'integer', description: 'How many tools fit.' },
        total: { type: 'integer', description: 'How many tools there are.' },
      },
      required: ['tools', 'found', 'total'],
    },
    annotations: READS_ONLY,
  },
  {
    name: DESCRIBE_TOOL,
    title: 'Describe a tool',
    description: 'Gives the whole definition of a tool: description, arguments, result and annotations.',
    inputSchema: { type: 'object', properties: { name: NAME }, required: ['name'], additionalProperties: false },
    outputSchema: { type: 'object', properties: { tool: { type: 'object' } }, required: ['tool'] },
    annotations: READS_ONLY,
  },
  {
    name: CALL_TOOL,
    title: 'Call a tool',
    description: `Calls a tool and gives its result. Read its definition with ${DESCRIBE_TOOL} first: its annotations say whether it changes something.`,
    inputSchema: {
      type: 'object',
      properties: { name: NAME, arguments: { type: 'object', description: 'The arguments of the tool.' } },
      required: ['name'],
      additionalProperties: false,
    },
  },
]

export interface ToolSearch {
  find(args: unknown): Promise<Json>
  /** The result of `describe_tool`: the unchanged definition. */
  describe(args: unknown): Promise<Json>
}

/** `tools`: the definitions of a route under the names of that route. */
export function createToolSearch(tools: readonly Json[]): ToolSearch {
  let ranking: Promise<Ranking> | undefined
  const byName = new Map(tools.map((tool) => [tool['name'], tool]))
  const best = async (query: string): Promise<readonly Json[]> => {
    // Indexed on first use: lists change more often than they are searched.
    ranking ??= createRanking(tools.map(fieldsOf))
    const found = await (await ranking).search(query)
    return found.map((number) => tools[number]).filter((tool) => tool !== undefined)
  }
  return {
    find: async (args) => {
      const query = readText(args, 'query')
      if (typeof query !== 'string') return toolError(query.fault)
      const found = query.trim() === '' ? tools : await best(query)
      return structured({
        tools: found.slice(0, limitOf(args)).map(summaryOf),
        found: found.length,
        total: tools.length,
      })
    },
    describe: async (args) => {
      const name = readText(args, 'name')
      if (typeof name !== 'string') return toolError(name.fault)
      const tool = byName.get(name)
      if (tool !== undefined) return structured({ tool })
      const near = (await best(name)).slice(0, 3)
      return toolError(
        `There is no tool of that name.${near.length === 0 ? '' : ` Near: ${near.map(({ name }) => textOf(name)).join(', ')}.`}`,
      )
    },
  }
}

/** Reads the arguments of `call_tool`; `fault` is a sentence. */
export function readToolCall(
  args: unknown,
): { readonly name: string; readonly arguments: Json } | { readonly fault: string } {
  const name = readText(args, 'name')
  if (typeof name !== 'string') return name
  const { arguments: given = {} } = isObject(args) ? args : {}
  if (!isObject(given)) return { fault: 'The argument "arguments" must be an object.' }
  return { name, arguments: given }
}

/** Reads a text argument and checks its length before any work; `fault` is a sentence. */
function readText(args: unknown, member: 'query' | 'name'): string | { readonly fault: string } {
  const text = isObject(args) ? args[member] : undefined
  if (typeof text !== 'string') return { fault: `The argument "${member}" must be a string.` }
  if (text.length <= MAX_QUERY) return text
  return { fault: `The argument "${member}" has more than ${MAX_QUERY} characters; use fewer words.` }
}

/** The size of `tools/list` with all tools and with the three, in bytes. */
export function savedBytes(tools: readonly Json[]): { readonly before: number; readonly after: number } {
  return { before: bytesOf(tools), after: bytesOf(SEARCH_TOOLS) }
}

function bytesOf(tools: readonly Json[]): number {
  return Buffer.byteLength(JSON.stringify({ tools }))
}

function fieldsOf({ name, title, description, inputSchema }: Json): readonly RankedField[] {
  const properties = isObject(inputSchema) && isObject(inputSchema['properties']) ? inputSchema['properties'] : {}
  const fields = [
    { text: textOf(name), weight: 3 },
    { text: textOf(title), weight: 2 },
    { text: textOf(description), weight: 1 },
    { text: Object.keys(properties).slice(0, MAX_SEARCHED).join(' '), weight: 1 },
  ]
  return fields.map(({ text, weight }) => ({ text: text.slice(0, MAX_SEARCHED), weight }))
}

function summaryOf({ name, title, description, annotations }: Json): Json {
  return {
    name,
    ...(title !== undefined && { title: summary(textOf(title)) }),
    ...(description !== undefined && { description: summary(textOf(description)) }),
    ...(annotations !== undefined && { annotations }),
  }
}

/** The beginning of a title or description, on one line. */
function summary(text: string): string {
  const line = text
    .slice(0, 4 * MAX_SUMMARY)
    .replace(/\s+/g, ' ')
    .trim()
  const characters = Array.from(line)
  return characters.length <= MAX_SUMMARY ? line : `${characters.slice(0, MAX_SUMMARY - 1).join('')}…`
}

function limitOf(args: unknown): number {
  const limit = isObject(args) ? args['limit'] : undefined
  const isWhole = typeof limit === 'number' && Number.isSafeInteger(limit)
  return isWhole ? Math.min(MAX_FOUND, Math.max(1, limit)) : DEFAULT_FOUND
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Tools, "Structured Content": the same as text, for clients that read no structured content. */
function structured(content: Json): Json {
  return { content: [{ type: 'text', text: JSON.stringify(content) }], structuredContent: content }
}

/** An error result for the model to read. */
export function toolError(sentence: string): Json {
  return { content: [{ type: 'text', text: sentence }], isError: true }
}
