/** Tools, prompts and resources of the official SDK: `registerTool` and its older siblings. */
import type { CallExpression, Node, ObjectExpression } from 'oxc-parser'
import { type Handler, rewriteHandler } from './handler.ts'
import { referencesTo } from './names.ts'
import { addAfter, addProperty, quoted, renameProperty } from './objects.ts'
import type { Run } from './run.ts'
import { areAnnotations, rewriteSchema } from './schemas.ts'
import { childrenOf, type Source } from './source.ts'
import type { ServerKind } from './servers.ts'
import { bare, isString, propertiesOf, propertyOf, returnedBy, stringOf } from './syntax.ts'

const TOOL_OPTIONS = new Set(['title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'icons', '_meta'])
const PROMPT_OPTIONS = new Set(['title', 'description', 'argsSchema', 'icons', '_meta'])

/** A call that registers something, with its parsed parts. */
export interface Registration {
  readonly source: Source
  readonly call: CallExpression
  readonly server: ServerKind
  readonly list: 'tool' | 'prompt'
  /** As in `the tool "add"`. */
  readonly what: string
}

export function rewriteTool(run: Run, registration: Registration): void {
  const { source, call } = registration
  if (isUsed(run, registration)) return
  const handler = call.arguments.at(-1)
  const config = call.arguments[1]
  if (call.arguments.length !== 3 || handler === undefined || config === undefined) return leaveCall(run, registration)
  const found = objectOf(run, source, config)
  if (found === undefined) return leaveCall(run, registration)
  if (!rewriteConfig(run, registration, found)) return
  const schema = propertyOf(found.object, registration.list === 'tool' ? 'inputSchema' : 'argsSchema')
  rewriteFunction(run, registration, handler, schema === undefined ? 0 : 1)
  if (propertyOf(found.object, 'outputSchema') !== undefined) noteResults(run, registration, handler)
  renameMethod(run, registration)
}

/** `server.tool(name, description?, shape?, annotations?, handler)` and `server.prompt(name, description?, shape?, handler)` */
export function rewriteOldRegistration(run: Run, registration: Registration): void {
  const { source, call, list, what } = registration
  if (isUsed(run, registration)) return
  const [name, ...rest] = call.arguments
  const handler = rest.pop()
  if (name === undefined || handler === undefined || rest.length > 3) return leaveCall(run, registration)
  const description = rest[0] !== undefined && isText(run, source, rest[0]) ? rest.shift() : undefined
  const schema = rest[0] !== undefined && !areAnnotations(run, source, rest[0]) ? rest.shift() : undefined
  const annotations = rest.shift()
  if (description === undefined) source.insert(name.end, `, { description: ${describedBy(run, registration, name)}`)
  else source.insert(description.start, '{ description: ')
  if (schema !== undefined) {
    source.insert(schema.start, 'input: ')
    rewriteSchema(run, source, schema, what)
  }
  if (annotations !== undefined) source.insert(annotations.start, 'annotations: ')
  const last = annotations ?? schema ?? description ?? name
  source.insert(last.end, ' }')
  rewriteFunction(run, registration, handler, schema === undefined ? 0 : 1)
  if (list === 'prompt') noteCompletables(run, registration, schema)
  run.counts[`${list}s`]++
}

function isText(run: Run, source: Source, node: Node): boolean {
  if (isString(bare(node))) return true
  const found = bare(node).type === 'Identifier' ? run.project.definitionOf(source, bare(node)) : undefined
  const init = found?.binding.kind === 'variable' ? found.binding.node.init : undefined
  return init != null && isString(bare(init))
}

/** The SDK returns a handle from which an entry is changed later; Pannier returns the server. */
function isUsed(run: Run, { source, call, what }: Registration): boolean {
  const parent = source.parentOf(call)
  if (parent?.type === 'ExpressionStatement') return false
  run.leave(source, call, `what registering ${what} returns`, 'Pannier returns the server, not a handle', HANDLE)
  return true
}

const HANDLE =
  "register it with server.tool, server.prompt or server.resource; in place of handle.remove() write server.remove('tools', name); who may see a tool is said by its option allow"

function leaveCall(run: Run, { source, call, what }: Registration): void {
  run.leave(
    source,
    call,
    what,
    'its options cannot be read here',
    `server.${memberText(source, call)} takes (name, { description, input }, handler)`,
  )
}

function memberText(source: Source, call: CallExpression): string {
  return source.textOf(call.callee).includes('rompt') ? 'prompt' : 'tool'
}

/** The object of an expression or of its variable, if only a registration uses it. */
function objectOf(
  run: Run,
  source: Source,
  expression: Node,
): { source: Source; object: ObjectExpression } | undefined {
  const node = bare(expression)
  if (node.type === 'ObjectExpression') return { source, object: node }
  const found = node.type === 'Identifier' ? run.project.definitionOf(source, node) : undefined
  if (found?.binding.kind !== 'variable' || found.binding.path.length > 0 || found.source !== source) return undefined
  const init = found.binding.node.init == null ? undefined : bare(found.binding.node.init)
  if (init?.type !== 'ObjectExpression' || found.binding.node.id.typeAnnotation != null) return undefined
  return referencesTo(source, found.binding).length === 1 ? { source, object: init } : undefined
}

function rewriteConfig(
  run: Run,
  registration: Registration,
  { source, object }: { source: Source; object: ObjectExpression },
): boolean {
  const { call, list, what } = registration
  const properties = propertiesOf(object)
  const known = list === 'tool' ? TOOL_OPTIONS : PROMPT_OPTIONS
  const strange = properties === undefined ? 'a spread' : [...properties.keys()].find((name) => !known.has(name))
  if (properties === undefined || strange !== undefined) {
    run.leave(source, call, what, `its options have ${strange}`, OPTIONS)
    return false
  }
  const schema = properties.get(list === 'tool' ? 'inputSchema' : 'argsSchema')
  if (schema !== undefined) {
    renameProperty(source, schema, 'input')
    rewriteSchema(run, source, schema.value, what)
    if (list === 'prompt') noteCompletables(run, registration, schema.value)
  }
  const output = properties.get('outputSchema')
  if (output !== undefined) {
    renameProperty(source, output, 'output')
    rewriteSchema(run, source, output.value, what)
  }
  if (!properties.has('description')) {
    const title = properties.get('title')?.value
    const name = title ?? call.arguments[0]
    if (name !== undefined) addProperty(source, object, `description: ${describedBy(run, registration, name)}`)
  }
  return true
}

const OPTIONS = 'write them one by one; the options are title, description, input, output, annotations, icons and _meta'

/** Pannier needs a description; its name is all that is known. */
function describedBy(run: Run, { source, call, what }: Registration, name: Node): string {
  run.leave(
    source,
    call,
    `the description of ${what}`,
    'it has none, so its name was put there',
    'write what it does: a model chooses by it',
  )
  return source.textOf(name)
}

/** The SDK gives the arguments only if there is a schema, and the context after them. */
function rewriteFunction(run: Run, { source, server, what, call }: Registration, handler: Node, index: number): void {
  const found = run.servers.functionOf(source, handler)
  if (found === undefined) {
    if (index === 1) return
    run.leave(
      source,
      call,
      `the handler of ${what}`,
      'it is made elsewhere, and a handler without a schema got the context first',
      'it gets (args, ctx)',
    )
    return
  }
  const shape: Handler = { ...found, sdk: server.sdk, index, before: 1 }
  rewriteHandler(run, shape)
}

/** With an output schema the compiler wants `structuredContent`, or `isError: true`. */
function noteResults(run: Run, { source, what }: Registration, handler: Node): void {
  const found = run.servers.functionOf(source, handler)
  if (found === undefined) return
  if (found.fn.returnType != null) {
    const why = 'the tool has an output schema, and the type of its result is narrower than this one'
    run.leave(found.source, found.fn, `the type of a result of ${what}`, why, 'leave the type out: it is inferred')
  }
  for (const value of returnedBy(found.fn, childrenOf)) {
    const node = bare(value)
    const object = node.type === 'ObjectExpression' ? node : undefined
    const isFine = object && (propertyOf(object, 'structuredContent') ?? propertyOf(object, 'isError'))
    if (isFine || (node.type === 'CallExpression' && found.source.textOf(node).startsWith('inputRequired'))) continue
    const how = 'return structured(value), failure(text), or an object with structuredContent or isError: true'
    run.leave(
      found.source,
      value,
      `a result of ${what}`,
      'the tool has an output schema, and the compiler may not see that this fits',
      how,
    )
  }
}

function noteCompletables(run: Run, { source, call, what }: Registration, schema: Node | undefined): void {
  if (schema === undefined) return
  const found = bare(schema).type === 'Identifier' ? run.project.definitionOf(source, bare(schema)) : undefined
  const init = found?.source === source && found.binding.kind === 'variable' ? found.binding.node.init : undefined
  for (const node of source.within(init ?? schema)) {
    if (node.type !== 'CallExpression' || node.callee.type !== 'Identifier' || node.callee.name !== 'completable')
      continue
    const [inner, complete] = node.arguments
    const statement = source.parentOf(call)
    const field = source.parentOf(node)
    const name = call.arguments[0]
    const object = run.servers.kindOf(source, calleeObject(call))
    if (
      inner === undefined ||
      complete === undefined ||
      name === undefined ||
      field?.type !== 'Property' ||
      object === undefined ||
      statement === undefined
    ) {
      run.leave(source, node, `a completion of ${what}`, 'its place is not known', COMPLETION)
      continue
    }
    source.replace(node, () => source.render(inner))
    const argument = quoted(source, source.textOf(field.key).replaceAll(/['"]/g, ''))
    const target = `{ prompt: ${source.textOf(name)}, argument: ${argument} }`
    addAfter(
      source,
      statement,
      `${source.textOf(calleeObject(call))}.completion(${target}, ${completer(run, source, complete)})`,
    )
  }
}

const COMPLETION = 'server.completion({ prompt, argument }, (typed, chosen) => […])'

/** The SDK gives `(value, { arguments })`, Pannier `(typed, chosen)`. */
export function completer(run: Run, source: Source, complete: Node): string {
  const found = run.servers.functionOf(source, complete)
  const text = source.textOf(complete)
  if (found !== undefined && found.fn.params.length < 2) return text
  return `(typed, chosen) => (${text})(typed, { arguments: { ...chosen } })`
}

export function calleeObject(call: CallExpression): Node {
  return call.callee.type === 'MemberExpression' ? call.callee.object : call.callee
}

function renameMethod(run: Run, { source, call, list }: Registration): void {
  if (call.callee.type === 'MemberExpression') source.replace(call.callee.property, list)
  if (call.typeArguments != null) source.replace(call.typeArguments, '')
  run.counts[`${list}s`]++
}

export function nameText(source: Source, call: CallExpression): string {
  const name = call.arguments[0]
  return name === undefined ? '' : (stringOf(bare(name)) ?? source.textOf(name))
}
