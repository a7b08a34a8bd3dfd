/** Tools, prompts and resources of FastMCP: one object each, with the name and the handler in it. */
import type { CallExpression, ObjectExpression, ObjectProperty } from 'oxc-parser'
import { addParameters, rewriteHandler } from './handler.ts'
import { bindingOf } from './names.ts'
import { addAfter, indentAt, removeProperty, renameCall, renameProperty, shifted } from './objects.ts'
import { calleeObject } from './registrations.ts'
import type { Run } from './run.ts'
import { childrenOf, type Source } from './source.ts'
import { bare, type FunctionNode, isFunction, propertiesOf, propertyOf, returnedBy } from './syntax.ts'

/** One kind of entry. */
interface Kind {
  readonly method: string
  readonly count: 'tools' | 'prompts' | 'resources'
  /** The property that comes first. */
  readonly first: string
  readonly handler: string
  readonly options: ReadonlySet<string>
  /** The removed property, and its replacement. */
  readonly renamed: Readonly<Record<string, string>>
  /** The position of the context in FastMCP, and the number of arguments before it in Pannier. */
  readonly index: number
  readonly before: number
}

const DESCRIBED = ['description', 'title', 'icons', '_meta']
export const TOOL: Kind = {
  method: 'tool',
  count: 'tools',
  first: 'name',
  handler: 'execute',
  options: new Set([...DESCRIBED, 'annotations']),
  renamed: { parameters: 'input', outputSchema: 'output' },
  index: 1,
  before: 1,
}
export const PROMPT: Kind = {
  ...TOOL,
  method: 'prompt',
  count: 'prompts',
  handler: 'load',
  options: new Set([...DESCRIBED, 'arguments']),
  renamed: {},
}
export const RESOURCE: Kind = {
  ...PROMPT,
  method: 'resource',
  count: 'resources',
  first: 'uri',
  options: new Set([...DESCRIBED, 'name', 'mimeType']),
}
export const TEMPLATE: Kind = {
  ...RESOURCE,
  method: 'resourceTemplate',
  first: 'uriTemplate',
  options: new Set([...DESCRIBED, 'name', 'mimeType', 'arguments']),
}

const ENTRY_HOW: Readonly<Record<string, string>> = {
  canAccess: 'allow: (principal) => …',
  timeoutMs: 'give AbortSignal.any([ctx.signal, AbortSignal.timeout(ms)]) to what takes long',
  complete: 'server.completion({ prompt, argument }, (typed, chosen) => […])',
}

export function rewriteEntry(run: Run, source: Source, call: CallExpression, kind: Kind): void {
  const object = call.arguments[0] && bare(call.arguments[0])
  const properties = object?.type === 'ObjectExpression' ? propertiesOf(object) : undefined
  const [first, handler] = [properties?.get(kind.first), properties?.get(kind.handler)]
  const what = `the ${kind.method} ${first ? source.textOf(first.value) : ''}`.trim()
  const fn = handler && bare(handler.value)
  if (object?.type !== 'ObjectExpression' || !properties || !first || !handler || !isFunction(fn))
    return run.leave(
      source,
      call,
      what,
      'its options, or its handler, cannot be read here',
      `server.${kind.method}(…, { description }, handler)`,
    )
  for (const [name, property] of properties) {
    const renamed = kind.renamed[name]
    if (renamed !== undefined) {
      renameProperty(source, property, renamed)
      noteValibot(run, source, property, what)
    } else if (name !== kind.first && name !== kind.handler && !kind.options.has(name))
      run.leave(
        source,
        property,
        `the option ${name} of ${what}`,
        'Pannier has no such option',
        ENTRY_HOW[name] ?? 'see the options in the guide of tools, prompts and resources',
      )
  }
  noteAnnotations(run, source, properties.get('annotations'), what)
  rewriteFastHandler(run, source, fn, kind, what, properties)
  if (kind.count !== 'resources' && !properties.has('description')) {
    run.leave(
      source,
      object,
      `the description of ${what}`,
      'it has none, so its name was put there',
      'write what it does: a model chooses by it',
    )
    source.insert(object.start + 1, ` description: ${source.textOf(first.value)},`)
  }
  const args = properties.get('arguments')
  if (args !== undefined) rewriteArguments(run, source, call, args, kind, first)
  removeProperty(source, first)
  const indent = indentAt(source, call.start)
  const moved = (): string =>
    handler.method ? methodText(source, handler, fn, indent) : shifted(source, handler.value, indent)
  const text = moved()
  removeProperty(source, handler)
  renameCall(source, call, kind.method)
  source.insert(object.start, `${source.textOf(first.value)}, `)
  source.insert(object.end, `, ${text}`)
  if (call.typeArguments != null) source.replace(call.typeArguments, '')
  run.counts[kind.count]++
}

/** `async load(args) { … }` as an arrow function. */
function methodText(source: Source, property: ObjectProperty, fn: FunctionNode, indent: string): string {
  const from = indentAt(source, property.start)
  const body = fn.body ?? fn
  const params = source.render({ start: source.text.indexOf('(', property.key.end), end: body.start }).trimEnd()
  const literal = source.within(fn).some((one) => one.type === 'TemplateElement' && source.textOf(one).includes('\n'))
  const text = source.render(body)
  return `${fn.async ? 'async ' : ''}${params} => ${literal ? text : text.replaceAll(`\n${from}`, `\n${indent}`)}`
}

/** Schemas of valibot do not describe themselves. */
function noteValibot(run: Run, source: Source, { value }: ObjectProperty, what: string): void {
  const found = bare(value).type === 'Identifier' ? run.project.definitionOf(source, bare(value)) : undefined
  const init = found?.binding.kind === 'variable' ? found.binding.node.init : value
  const names = init == null ? [] : (found?.source ?? source).within(init)
  const isValibot = names.some((node) => {
    const binding = node.type === 'Identifier' ? bindingOf(found?.source ?? source, node, node.name) : undefined
    return binding?.kind === 'import' && binding.module === 'valibot'
  })
  if (isValibot)
    run.leave(
      source,
      value,
      `the schema of ${what}`,
      'a schema of valibot cannot describe itself as JSON Schema',
      'wrap it: toStandardJsonSchema(schema) from @valibot/to-json-schema',
    )
}

const KNOWN_HINTS = new Set(['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'])

function noteAnnotations(run: Run, source: Source, annotations: ObjectProperty | undefined, what: string): void {
  const object = annotations && bare(annotations.value)
  if (object?.type !== 'ObjectExpression') return
  for (const [name, property] of propertiesOf(object) ?? []) {
    if (KNOWN_HINTS.has(name)) continue
    removeProperty(source, property)
    run.leave(
      source,
      property,
      `the annotation ${name} of ${what}`,
      'the protocol has no such hint; it was removed',
      'nothing',
    )
  }
}

function rewriteFastHandler(
  run: Run,
  source: Source,
  fn: FunctionNode,
  kind: Kind,
  what: string,
  properties: Map<string, ObjectProperty>,
): void {
  if (kind === TOOL) {
    rewriteHandler(run, { source, fn, sdk: 'fastmcp', index: 1, before: 1 })
    return rewriteToolResults(run, source, fn, what, properties.has('outputSchema'))
  }
  const auth = fn.params[kind === RESOURCE ? 0 : 1]
  if (auth !== undefined)
    run.leave(
      source,
      auth,
      `the caller in ${what}`,
      'handlers get the context there',
      'ctx.principal is the caller: createServer({ principal })',
    )
  if (kind === PROMPT) return
  const needsUri = rewriteResourceResults(run, source, fn, what)
  const uri = needsUri ? 'uri' : '_uri'
  const [args] = fn.params
  if (kind === TEMPLATE && args !== undefined) source.insert(args.start, `${uri}, `)
  else if (needsUri && auth === undefined) addParameters(source, fn, [uri])
}

/** FastMCP also accepts a single item of content, or no value, as a result. */
function rewriteToolResults(run: Run, source: Source, fn: FunctionNode, what: string, hasOutput: boolean): void {
  const values = returnedBy(fn, childrenOf)
  if (values.length === 0)
    run.leave(source, fn, `the result of ${what}`, 'it returns nothing', "return a text, which may be empty: return ''")
  for (const value of values) {
    const node = bare(value)
    if (node.type !== 'ObjectExpression') {
      if (hasOutput)
        run.leave(
          source,
          value,
          `a result of ${what}`,
          'with an output schema FastMCP takes the value itself',
          'return structured(value) of pannier/server',
        )
      continue
    }
    if (propertyOf(node, 'content') !== undefined || propertyOf(node, 'structuredContent') !== undefined) continue
    if (hasOutput)
      run.leave(
        source,
        value,
        `a result of ${what}`,
        'with an output schema FastMCP takes the value itself',
        'return structured(value) of pannier/server',
      )
    else if (propertyOf(node, 'type') !== undefined) {
      source.insert(value.start, '{ content: [')
      source.insert(value.end, '] }')
    } else
      run.leave(source, value, `a result of ${what}`, 'it is neither a text nor content', 'return { content: […] }')
  }
}

/** `{ text }` alone is a string here; other parts get the address that each must have. Gives whether they need it. */
function rewriteResourceResults(run: Run, source: Source, fn: FunctionNode, what: string): boolean {
  let needsUri = false
  for (const value of returnedBy(fn, childrenOf)) {
    const node = bare(value)
    const properties = node.type === 'ObjectExpression' ? propertiesOf(node) : undefined
    const text = properties?.size === 1 ? properties.get('text') : undefined
    const isBody = fn.body === value && source.text[value.start - 1] === '('
    const whole = isBody ? { start: value.start - 1, end: value.end + 1 } : value
    if (text !== undefined) source.replace(whole, () => source.render(text.value))
    else if (properties?.has('blob') || properties?.has('text')) {
      source.insert(value.start, '{ contents: [')
      if (!properties.has('uri')) source.insert(value.start + 1, ' uri,')
      needsUri ||= !properties.has('uri')
      source.insert(value.end, '] }')
    } else {
      const how = 'return a string, bytes, or { contents: [{ uri, text }] }'
      run.leave(source, value, `a result of ${what}`, 'it cannot be read here', how)
    }
  }
  return needsUri
}

/**
 * The arguments of a prompt become a JSON Schema; the arguments of a template are in its address. Completions are added
 * beside.
 */
function rewriteArguments(
  run: Run,
  source: Source,
  call: CallExpression,
  args: ObjectProperty,
  kind: Kind,
  first: ObjectProperty,
): void {
  const list = bare(args.value)
  const items =
    list.type === 'ArrayExpression' ? list.elements.map((one) => (one === null ? undefined : bare(one))) : []
  if (
    list.type !== 'ArrayExpression' ||
    !items.every((one): one is ObjectExpression => one?.type === 'ObjectExpression')
  )
    return run.leave(source, args, 'the arguments', 'they cannot be read here', 'input: z.object({ … })')
  if (kind === PROMPT) writeInput(run, source, args, items)
  else removeProperty(source, args)
  for (const item of items) {
    const complete = propertyOf(item, 'complete')
    const name = propertyOf(item, 'name')
    if (complete === undefined || name === undefined) continue
    const target =
      kind === PROMPT
        ? `prompt: ${source.textOf(first.value)}, argument`
        : `template: ${source.textOf(first.value)}, variable`
    const text = `async (typed) => (await (${source.textOf(complete.method ? complete : complete.value)})(typed)).values`
    const statement = source.parentOf(call)
    if (complete.method || statement?.type !== 'ExpressionStatement') {
      run.leave(source, complete, 'a completion', 'it is written as a method', ENTRY_HOW['complete'] ?? '')
      continue
    }
    addAfter(
      source,
      statement,
      `${source.textOf(calleeObject(call))}.completion({ ${target}: ${source.textOf(name.value)} }, ${text})`,
    )
  }
}

function writeInput(run: Run, source: Source, args: ObjectProperty, items: readonly ObjectExpression[]): void {
  const z = run.zodIn(source)
  const fields = items.map((item) => {
    const [name, description, required, choices] = ['name', 'description', 'required', 'enum'].map(
      (key) => propertyOf(item, key)?.value,
    )
    const base = choices === undefined ? `${z}.string()` : `${z}.enum(${source.textOf(choices)})`
    const optional = required !== undefined && source.textOf(required) === 'true' ? '' : '.optional()'
    const described = description === undefined ? '' : `.describe(${source.textOf(description)})`
    const key = name === undefined ? '?' : source.textOf(name)
    return `${/^['"][A-Za-z_$][\w$]*['"]$/.test(key) ? key.slice(1, -1) : key}: ${base}${optional}${described}`
  })
  source.replace(args, `input: ${z}.object({ ${fields.join(', ')} })`)
}
