/** Servers of FastMCP: one object for each tool, prompt and resource, with the name and the handler in it. */
import type { CallExpression, NewExpression, ObjectExpression, ObjectProperty } from 'oxc-parser'
import { addParameters, rewriteHandler } from './handler.ts'
import { bindingOf } from './names.ts'
import { addAfter, indentAt, removeProperty, renameProperty, shifted } from './objects.ts'
import { calleeObject } from './registrations.ts'
import type { Run } from './run.ts'
import { childrenOf, type Source } from './source.ts'
import { bare, type FunctionNode, isFunction, keyOf, propertiesOf, propertyOf, returnedBy, stringOf } from './syntax.ts'

const SERVER_OPTIONS = new Set(['name', 'version', 'instructions', 'icons', 'title', 'websiteUrl'])
/** What FastMCP does to keep sessions; there is nothing to do here. */
const DROPPED = new Set(['ping', 'roots'])
const SERVER_HOW: Readonly<Record<string, string>> = {
  authenticate: 'createServer({ principal: (call) => … }), or bearer() of pannier/server; ctx.principal is the caller',
  auth: 'bearer() of pannier/server checks tokens; the login itself stays with your provider',
  oauth: 'bearer() of pannier/server serves the metadata and checks tokens',
  health: 'leave it out; mount server.nodeHandler() beside a route of your own',
  logger: 'createServer({ logger }) takes a pino logger',
  utils: 'leave it out',
}

export function rewriteFastMcp(run: Run, source: Source, node: NewExpression): void {
  const options = node.arguments[0] && bare(node.arguments[0])
  const properties = options?.type === 'ObjectExpression' ? propertiesOf(options) : undefined
  if (properties === undefined)
    return run.leave(
      source,
      node,
      'new FastMCP',
      'its options cannot be read here',
      'createServer({ name, version, instructions })',
    )
  for (const [name, property] of properties) {
    if (DROPPED.has(name)) removeProperty(source, property)
    else if (!SERVER_OPTIONS.has(name))
      run.leave(
        source,
        property,
        `the option ${name} of the server`,
        'createServer has no such option',
        SERVER_HOW[name] ?? 'see the options of createServer',
      )
  }
  source.replace(
    { start: node.start, end: node.arguments[0]?.start ?? node.end },
    `${run.nameOf(source, 'createServer')}(`,
  )
}

export function rewriteFastCall(run: Run, source: Source, call: CallExpression, method: string): void {
  const rewrite = CALLS[method]
  if (rewrite !== undefined) return rewrite(run, source, call)
  run.leave(
    source,
    call,
    `server.${method}`,
    'it has no counterpart of that name',
    HOW[method] ?? 'see the methods of a server of pannier/server',
  )
}

const HOW: Readonly<Record<string, string>> = {
  on: 'there are no sessions to hear of; use server.use(middleware) around calls, and the logger',
  off: 'there are no sessions to hear of',
  embedded: "write the resource: { type: 'resource', resource: { uri, text } }",
  addTools: 'add them one by one: server.tool(name, { description, input }, handler)',
  addPrompts: 'add them one by one: server.prompt(name, { description, input }, handler)',
  addResources: 'add them one by one: server.resource(uri, { name }, handler)',
  getApp: 'mount the server in your own application: app.all("/mcp", server.nodeHandler())',
}

const CALLS: Readonly<Record<string, (run: Run, source: Source, call: CallExpression) => void>> = {
  addTool: (run, source, call) => rewriteEntry(run, source, call, TOOL),
  addPrompt: (run, source, call) => rewriteEntry(run, source, call, PROMPT),
  addResource: (run, source, call) => rewriteEntry(run, source, call, RESOURCE),
  addResourceTemplate: (run, source, call) => rewriteEntry(run, source, call, TEMPLATE),
  start: rewriteStart,
  stop: (_, source, call) => renameCall(source, call, 'drain'),
  removeTool: (_, source, call) => remove(source, call, 'tools'),
  removePrompt: (_, source, call) => remove(source, call, 'prompts'),
  removeResource: (_, source, call) => remove(source, call, 'resources'),
}

function renameCall(source: Source, call: CallExpression, name: string): void {
  if (call.callee.type === 'MemberExpression') source.replace(call.callee.property, name)
}

function remove(source: Source, call: CallExpression, list: string): void {
  renameCall(source, call, 'remove')
  if (call.arguments[0] !== undefined) source.insert(call.arguments[0].start, `'${list}', `)
}

/** One kind of entry. */
interface Kind {
  readonly method: string
  readonly count: 'tools' | 'prompts' | 'resources'
  /** The property that comes first. */
  readonly first: string
  readonly handler: string
  readonly options: ReadonlySet<string>
  /** The property that goes out, and what is done with it. */
  readonly renamed: Readonly<Record<string, string>>
  /** Where FastMCP gives the context, and how many arguments come before it here. */
  readonly index: number
  readonly before: number
}

const DESCRIBED = ['description', 'title', 'icons', '_meta']
const TOOL: Kind = {
  method: 'tool',
  count: 'tools',
  first: 'name',
  handler: 'execute',
  options: new Set([...DESCRIBED, 'annotations']),
  renamed: { parameters: 'input', outputSchema: 'output' },
  index: 1,
  before: 1,
}
const PROMPT: Kind = {
  ...TOOL,
  method: 'prompt',
  count: 'prompts',
  handler: 'load',
  options: new Set([...DESCRIBED, 'arguments']),
  renamed: {},
}
const RESOURCE: Kind = {
  ...PROMPT,
  method: 'resource',
  count: 'resources',
  first: 'uri',
  options: new Set([...DESCRIBED, 'name', 'mimeType']),
}
const TEMPLATE: Kind = {
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

function rewriteEntry(run: Run, source: Source, call: CallExpression, kind: Kind): void {
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
  if (kind === TEMPLATE) {
    const [args] = fn.params
    if (args === undefined) addParameters(source, fn, ['uri'])
    else source.insert(args.start, 'uri, ')
  } else if (auth === undefined) addParameters(source, fn, ['uri'])
  rewriteResourceResults(run, source, fn, what)
}

/** FastMCP takes one item of content as a result, and nothing at all. */
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

/** `{ text }` alone is a string here; other parts get the address that each must have. */
function rewriteResourceResults(run: Run, source: Source, fn: FunctionNode, what: string): void {
  for (const value of returnedBy(fn, childrenOf)) {
    const node = bare(value)
    const properties = node.type === 'ObjectExpression' ? propertiesOf(node) : undefined
    const text = properties?.size === 1 ? properties.get('text') : undefined
    const isBody = fn.body === value && source.text[value.start - 1] === '('
    if (text !== undefined)
      source.replace(isBody ? { start: value.start - 1, end: value.end + 1 } : value, () => source.render(text.value))
    else if (properties?.has('blob') || properties?.has('text')) {
      source.insert(value.start, '{ contents: [')
      if (!properties.has('uri')) source.insert(value.start + 1, ' uri,')
      source.insert(value.end, '] }')
    } else
      run.leave(
        source,
        value,
        `a result of ${what}`,
        'it cannot be read here',
        'return a string, bytes, or { contents: [{ uri, text }] }',
      )
  }
}

/** The arguments of a prompt become a JSON Schema; those of a template are in its address. Completions are added beside. */
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

/** `start({ transportType })` is `stdio()` or `listen({ port })`. */
function rewriteStart(run: Run, source: Source, call: CallExpression): void {
  const object = call.arguments[0] && bare(call.arguments[0])
  const type = object?.type === 'ObjectExpression' ? propertyOf(object, 'transportType') : undefined
  const kind = call.arguments.length === 0 ? 'stdio' : type && stringOf(bare(type.value))
  const server = source.textOf(calleeObject(call))
  if (kind === 'stdio') {
    if (call.arguments.length === 0)
      run.leave(
        source,
        call,
        'server.start()',
        'FastMCP reads the command line and FASTMCP_ variables here; this is stdio only',
        'await server.listen({ port }) for HTTP',
      )
    const parent = source.parentOf(call)
    const statement = parent?.type === 'AwaitExpression' ? source.parentOf(parent) : parent
    const outer = parent?.type === 'AwaitExpression' && statement?.type === 'ExpressionStatement' ? parent : call
    return source.replace(outer, `${statement?.type === 'ExpressionStatement' ? 'void ' : ''}${server}.stdio()`)
  }
  const http = object?.type === 'ObjectExpression' ? propertyOf(object, 'httpStream') : undefined
  const options = http && bare(http.value)
  if (kind !== 'httpStream' || options?.type !== 'ObjectExpression')
    return run.leave(
      source,
      call,
      'server.start',
      'its transport cannot be read here',
      'await server.stdio(), or await server.listen({ port })',
    )
  listen(run, source, call, options, server)
}

const LISTENED: Readonly<Record<string, string>> = { port: 'port', host: 'host', endpoint: 'path' }
const NOT_LISTENED = new Set(['stateless', 'enableJsonResponse', 'eventStore'])

function listen(run: Run, source: Source, call: CallExpression, options: ObjectExpression, server: string): void {
  const parts: string[] = []
  for (const property of options.properties) {
    const name = property.type === 'Property' ? (keyOf(property) ?? '') : ''
    const own = LISTENED[name]
    if (own !== undefined && property.type === 'Property')
      parts.push(property.shorthand && own === name ? own : `${own}: ${source.textOf(property.value)}`)
    else if (!NOT_LISTENED.has(name))
      run.leave(
        source,
        property,
        `the option ${name || 'of a spread'} of httpStream`,
        'listen has no such option; it was removed',
        'a proxy before the server, or server.nodeHandler() in an application of yours',
      )
  }
  if (!parts.some((part) => part.startsWith('port'))) parts.unshift('port: 8080')
  const isAwaited = source.parentOf(call)?.type === 'AwaitExpression'
  const isStatement = source.parentOf(call)?.type === 'ExpressionStatement'
  source.replace(call, `${isStatement && !isAwaited ? 'void ' : ''}${server}.listen({ ${parts.join(', ')} })`)
}
