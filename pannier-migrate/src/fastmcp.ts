/** Servers of FastMCP: how they are made, started and changed. */
import type { CallExpression, NewExpression, ObjectExpression } from 'oxc-parser'
import { PROMPT, RESOURCE, rewriteEntry, TEMPLATE, TOOL } from './fastmcpEntries.ts'
import { removeProperty, renameCall } from './objects.ts'
import { calleeObject } from './registrations.ts'
import type { Run } from './run.ts'
import type { Source } from './source.ts'
import { bare, keyOf, propertiesOf, propertyOf, stringOf } from './syntax.ts'

const SERVER_OPTIONS = new Set(['name', 'version', 'instructions', 'icons', 'title', 'websiteUrl'])
/** Session settings of FastMCP, which have no counterpart here. */
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

function remove(source: Source, call: CallExpression, list: string): void {
  renameCall(source, call, 'remove')
  if (call.arguments[0] !== undefined) source.insert(call.arguments[0].start, `'${list}', `)
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
