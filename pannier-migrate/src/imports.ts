/**
 * The imports of a file after its edits: unused imports are removed, types of the protocol are moved, and Pannier's are
 * added.
 */
import type { ImportDeclaration, ImportDeclarationSpecifier, Node } from 'oxc-parser'
import { isReference } from './names.ts'
import { sdkOfModule } from './project.ts'
import type { Run } from './run.ts'
import { Source } from './source.ts'

/** The module with the types of the protocol. */
const PROTOCOL_TYPES = '@modelcontextprotocol/client'

const MOVED = new Set(
  `Annotations AudioContent BlobResourceContents CallToolRequest CallToolResult CompleteResult ContentBlock CreateMessageRequest
  CreateMessageResult ElicitRequestFormParams ElicitResult EmbeddedResource GetPromptResult Icon ImageContent Implementation
  ListPromptsResult ListResourcesResult ListToolsResult LoggingLevel Prompt PromptArgument PromptMessage ReadResourceResult Resource
  ResourceLink Role Root SamplingMessage TextContent TextResourceContents Tool ToolAnnotations ServerCapabilities`.split(
    /\s+/,
  ),
)
/** Functions of version 2 that the client package has, too. */
const MOVED_VALUES = new Set(['fromJsonSchema', 'specTypeSchemas', 'isCallToolResult'])

/** The text of the file with its imports in order, given the text with all other edits. */
export function withImports(run: Run, before: Source, text: string): string {
  const source = new Source(before.path, text)
  const wanted = [run.importOf(before), run.needsZod(before) ? "import * as z from 'zod'" : undefined]
  const moved: string[] = []
  for (const name of run.typesFor(before)) if (!declares(source, name)) moved.push(`type ${name}`)
  for (const statement of source.program.body) {
    if (statement.type !== 'ImportDeclaration' || sdkOfModule(statement.source.value) === undefined) continue
    const kept = statement.specifiers.filter((specifier) => isUsed(source, specifier))
    const moving = kept.filter((specifier) => isMoved(source, specifier))
    moved.push(...moving.map((one) => movedText(source, statement, one)))
    const staying = kept.filter((specifier) => !moving.includes(specifier))
    writeImport(source, statement, staying)
    if (staying.length > 0) noteImport(run, before, statement, staying)
  }
  if (moved.length > 0)
    wanted.push(
      `import { ${[...new Set(moved)].toSorted().join(', ')} } from '${PROTOCOL_TYPES}'`.replace(ONLY_TYPES, onlyTypes),
    )
  const lines = wanted.filter((one) => one !== undefined).map((one) => inStyle(one, text))
  if (lines.length > 0) source.insert(placeOf(source), `${lines.join('\n')}\n`)
  return source.render()
}

const ONLY_TYPES = /^import \{ (type \w+(?: as \w+)?(?:, type \w+(?: as \w+)?)*) \}/
const onlyTypes = (_: string, items: string): string => `import type { ${items.replaceAll('type ', '')} }`

/** As the file writes its own imports: quotes, and semicolons. */
function inStyle(line: string, text: string): string {
  const doubles = /from "/.test(text)
  const semicolon = /from ['"][^'"]+['"];/.test(text)
  return `${doubles ? line.replaceAll("'", '"') : line}${semicolon ? ';' : ''}`
}

function isUsed(source: Source, { local }: ImportDeclarationSpecifier): boolean {
  return source.nodes.some(
    (node) => node.type === 'Identifier' && node.name === local.name && isReference(source, node),
  )
}

function declares(source: Source, name: string): boolean {
  return source.program.body.some(
    (one) => one.type === 'ImportDeclaration' && one.specifiers.some(({ local }) => local.name === name),
  )
}

function importedName(specifier: ImportDeclarationSpecifier): string {
  if (specifier.type !== 'ImportSpecifier') return '*'
  return specifier.imported.type === 'Identifier' ? specifier.imported.name : specifier.imported.value
}

/** Whether the name is a type of the protocol, and used as nothing else. */
function isMoved(source: Source, specifier: ImportDeclarationSpecifier): boolean {
  const name = importedName(specifier)
  return MOVED.has(name) || (MOVED_VALUES.has(name) && isUsed(source, specifier))
}

function movedText(_: Source, { importKind }: ImportDeclaration, specifier: ImportDeclarationSpecifier): string {
  const name = importedName(specifier)
  const local = specifier.local.name
  const isType = MOVED.has(name) || importKind === 'type'
  return `${isType ? 'type ' : ''}${name}${local === name ? '' : ` as ${local}`}`
}

function writeImport(
  source: Source,
  statement: ImportDeclaration,
  staying: readonly ImportDeclarationSpecifier[],
): void {
  if (staying.length === statement.specifiers.length) return
  if (staying.length === 0) {
    const rest = /^[ \t]*\r?\n/.exec(source.text.slice(statement.end))?.[0].length ?? 0
    return source.replace({ start: statement.start, end: statement.end + rest }, '')
  }
  const [named, others] = [staying.filter(isNamed), staying.filter((one) => !isNamed(one))]
  const items = [
    ...others.map((one) => source.textOf(one)),
    ...(named.length > 0 ? [`{ ${named.map((one) => source.textOf(one)).join(', ')} }`] : []),
  ]
  const last = statement.specifiers.at(-1)
  const first = statement.specifiers[0]
  if (first === undefined || last === undefined) return
  const open =
    source.text.lastIndexOf('{', first.start) > statement.start
      ? source.text.lastIndexOf('{', first.start)
      : first.start
  const close = source.text.indexOf('}', last.end)
  const end = close > 0 && close < statement.source.start ? close + 1 : last.end
  source.replace({ start: open, end }, items.join(', '))
}

const isNamed = (specifier: Node): boolean => specifier.type === 'ImportSpecifier'

function noteImport(
  run: Run,
  before: Source,
  statement: ImportDeclaration,
  staying: readonly ImportDeclarationSpecifier[],
): void {
  const names = staying.map(importedName)
  const place = before.nodes.find(
    (node) => node.type === 'ImportDeclaration' && node.source.value === statement.source.value,
  )
  if (place === undefined) return
  const how = [...new Set(names.map((name) => HOW[name] ?? 'move what uses it, then take the import out'))].join('; ')
  run.leave(before, place, `the import of ${names.join(', ')}`, `still used, from ${statement.source.value}`, how)
}

const HOW: Readonly<Record<string, string>> = {
  UserError: 'throw an Error: its message is sent to the model',
  imageContent: "return { content: [{ type: 'image', data, mimeType }] }",
  audioContent: "return { content: [{ type: 'audio', data, mimeType }] }",
  McpError: 'throw an Error, or ProtocolError of pannier/server for an error of the protocol',
  ErrorCode: 'throw an Error, or ProtocolError of pannier/server for an error of the protocol',
  acceptedContent: 'const { … } = await ctx.ask(key, { message, schema }), in place of the rounds by hand',
  isInitializeRequest: 'the routes of the SDK go away: server.nodeHandler()',
}

/** After a first line for the system and the comment at the head, before the first import. */
function placeOf(source: Source): number {
  const first = source.program.body.find((one) => one.type === 'ImportDeclaration') ?? source.program.body[0]
  return first?.start ?? 0
}
