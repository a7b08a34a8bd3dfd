/** Finds every server of a project and makes the mechanical changes. Nothing is written to disk here. */
import type { CallExpression, Node } from 'oxc-parser'
import { rewriteConstruction } from './construction.ts'
import { rewriteFastCall, rewriteFastMcp } from './fastmcp.ts'
import { withImports } from './imports.ts'
import { rewriteHandlers } from './lowLevel.ts'
import { newManifest } from './manifest.ts'
import { dropAwait } from './objects.ts'
import { isTest, type Project, type Sdk, sdkName, sdkOfModule } from './project.ts'
import { nameText, type Registration, rewriteOldRegistration, rewriteTool } from './registrations.ts'
import { rewriteInputRequest } from './questions.ts'
import { rewriteResource } from './resources.ts'
import { Run } from './run.ts'
import type { ServerKind } from './servers.ts'
import { parse, type Source } from './source.ts'
import { memberOf } from './syntax.ts'
import { rewriteConnect, rewriteMcpHandler, rewriteServeStdio } from './transports.ts'

/** A file before and after. */
export interface Change {
  readonly path: string
  readonly before: string
  readonly after: string
}

export interface Migration {
  readonly run: Run
  readonly sdks: ReadonlySet<Sdk>
  readonly changes: readonly Change[]
}

export function migrate(project: Project): Migration {
  const run = new Run(project)
  const all = [...project.sources.values()]
  const sources = all.filter((source) => !isTest(source))
  for (const source of all) if (isTest(source)) noteTest(run, source)
  for (const source of sources) rewriteSource(run, source)
  for (const source of sources) rewriteTypes(run, source)
  const changes = sources.flatMap((source) => changeOf(run, source))
  const sdks = new Set(sources.flatMap(sdksIn))
  if (changes.length > 0) {
    const texts = new Map(changes.map(({ path, after }) => [path, after]))
    const imported = new Set(all.flatMap(({ path, text }) => modulesIn(path, texts.get(path) ?? text)))
    const after = newManifest(run, imported)
    if (after !== project.manifest.text) changes.push({ path: 'package.json', before: project.manifest.text, after })
  }
  return { run, sdks, changes }
}

function noteTest(run: Run, source: Source): void {
  const statement = source.program.body.find((one) => one.type === 'ImportDeclaration' && sdkOfModule(one.source.value))
  if (statement === undefined) return
  run.leave(
    source,
    statement,
    'a test of the SDK’s server',
    'tests are not moved',
    'testClient(server) of pannier/testing calls what the server offers',
  )
}

function sdksIn({ program }: Source): Sdk[] {
  return program.body.flatMap((one) => (one.type === 'ImportDeclaration' ? (sdkOfModule(one.source.value) ?? []) : []))
}

function modulesIn(path: string, text: string): string[] {
  return parse(path, text).program.body.flatMap((one) =>
    'source' in one && one.source != null ? [one.source.value] : [],
  )
}

/** A file whose new text cannot be parsed stays as it is. */
function changeOf(run: Run, source: Source): Change[] {
  if (!source.isEdited) return []
  try {
    const after = withImports(run, source, source.render())
    parse(source.path, after)
    return [{ path: source.path, before: source.text, after }]
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    run.leave(
      source,
      source.program,
      'the file',
      `what it became could not be parsed (${error.message}), so it stays as it is`,
      'move it by hand',
    )
    return []
  }
}

function rewriteSource(run: Run, source: Source): void {
  const handlers = new Map<string, { calls: CallExpression[]; server: ServerKind }>()
  for (const node of source.nodes) {
    if (node.type === 'NewExpression') {
      const server = run.servers.classKind(source, node.callee)
      if (server?.kind === 'fastmcp') rewriteFastMcp(run, source, node)
      else if (server !== undefined) rewriteConstruction(run, source, node)
    }
    if (node.type !== 'CallExpression') continue
    const named = sdkName(source, node.callee)
    if (named?.name === 'serveStdio') rewriteServeStdio(run, source, node)
    if (named?.name === 'createMcpHandler') rewriteMcpHandler(run, source, node)
    if (named?.sdk === 'v2' && named.name === 'inputRequired')
      source.replace(node.callee, run.nameOf(source, 'inputRequired'))
    rewriteInputRequest(source, node)
    const member = memberOf(node.callee)
    if (member === undefined || node.callee.type !== 'MemberExpression') continue
    const server = run.servers.kindOf(source, node.callee.object)
    if (server === undefined) continue
    if (member === 'setRequestHandler' || member === 'setNotificationHandler') {
      const name = source.textOf(node.callee.object)
      const known = handlers.get(name) ?? { calls: [], server }
      handlers.set(name, { ...known, calls: [...known.calls, node] })
    } else rewriteCall(run, source, node, member, server)
  }
  for (const { calls, server } of handlers.values()) rewriteHandlers(run, source, calls, server)
  noteOtherUses(run, source)
}

function rewriteCall(run: Run, source: Source, call: CallExpression, member: string, server: ServerKind): void {
  if (server.kind === 'fastmcp') {
    run.begin(call.callee)
    return rewriteFastCall(run, source, call, member)
  }
  const list = /prompt$/i.test(member) ? 'prompt' : 'tool'
  const what = `the ${/resource$/i.test(member) ? 'resource' : list} ${nameText(source, call)}`
  const registration: Registration = { source, call, server, list, what }
  const rewrite = REWRITES[member]
  if (rewrite === undefined || (server.kind !== 'mcp' && OF_MCP.has(member))) return
  run.begin(call.callee)
  rewrite(run, registration)
}

const OF_MCP = new Set(['registerTool', 'registerPrompt', 'registerResource', 'tool', 'prompt', 'resource'])

const REWRITES: Readonly<Record<string, (run: Run, registration: Registration) => void>> = {
  registerTool: rewriteTool,
  registerPrompt: rewriteTool,
  tool: rewriteOldRegistration,
  prompt: rewriteOldRegistration,
  registerResource: (run, { source, call, server, what }) => rewriteResource(run, source, call, server, what),
  resource: (run, { source, call, server, what }) => rewriteResource(run, source, call, server, what),
  connect: (run, { source, call }) => rewriteConnect(run, source, call),
  close: (_, { source, call }) => renameCallee(source, call, 'drain'),
  sendToolListChanged: (run, one) => rewriteNews(run, one, "changed('tools')"),
  sendPromptListChanged: (run, one) => rewriteNews(run, one, "changed('prompts')"),
  sendResourceListChanged: (run, one) => rewriteNews(run, one, "changed('resources')"),
  sendResourceUpdated: rewriteUpdated,
}

function renameCallee(source: Source, call: CallExpression, name: string): void {
  source.replace(call.callee, `${outerServer(source, call)}.${name}`)
}

/** The SDK returns a promise for a notification; Pannier sends it at once. */
function rewriteNews(run: Run, { source, call }: Registration, text: string): void {
  const parent = source.parentOf(call)
  const news = `${outerServer(source, call)}.${text}`
  if (parent?.type !== 'MemberExpression') {
    dropAwait(source, call)
    return source.replace(call, news)
  }
  run.leave(source, call, source.textOf(call.callee), 'its promise is used, and here there is none', news)
}

/** `server` of `server.server`. */
function outerServer(source: Source, { callee }: CallExpression): string {
  const object = callee.type === 'MemberExpression' ? callee.object : callee
  return source.textOf(
    memberOf(object) === 'server' && object.type === 'MemberExpression' && object.object.type !== 'ThisExpression'
      ? object.object
      : object,
  )
}

/** `sendResourceUpdated({ uri })` */
function rewriteUpdated(run: Run, registration: Registration): void {
  const { source, call } = registration
  const [first] = call.arguments
  const [property, ...more] = first?.type === 'ObjectExpression' ? first.properties : []
  if (property?.type !== 'Property' || more.length > 0)
    return run.leave(source, call, 'sendResourceUpdated', 'its address cannot be read here', 'server.updated(uri)')
  rewriteNews(run, registration, `updated(${source.textOf(property.value)})`)
}

/** Types that name a server, or the result of handlers in explicit style. */
function rewriteTypes(run: Run, source: Source): void {
  for (const node of source.nodes) {
    if (node.type !== 'TSTypeReference') continue
    const named = sdkName(source, node.typeName)
    if (named?.sdk === 'v2' && named.name === 'InputRequiredResult')
      source.replace(node, run.nameOf(source, 'InputRequired'))
    else if (run.servers.classKind(source, node.typeName) !== undefined)
      source.replace(node, run.nameOf(source, 'Server'))
  }
}

const HOW: Readonly<Record<string, string>> = {
  oninitialized:
    'there is no session to begin: ctx.can(capability), ctx.client and ctx.roots(key) say in each call what the client is',
  onclose: 'there is no session to end; what a call holds ends with ctx.signal',
  onerror: 'createServer({ logger }) has what goes wrong',
  getClientCapabilities: "ctx.can('sampling') in a handler",
  getClientVersion: 'ctx.client in a handler',
  isConnected: 'leave it out; a server is not bound to one client',
  registerCapabilities: 'leave it out; Pannier declares what it has',
  registerToolTask:
    "server.tool(name, { task: 'optional', … }, handler): the handler is the same, without a store of its own",
  experimental:
    "server.tool(name, { task: 'optional', … }, handler): the handler is the same, without a store of its own",
  sendLoggingMessage: 'ctx.log(level, data) in a handler; there is no client to send to outside of a call',
  elicitInput: 'ctx.ask(key, { message, schema }) in a handler; outside of a handler no client can be asked',
  createMessage: 'ctx.sample(key, params) in a handler; outside of a handler no client can be asked',
  listRoots: 'ctx.roots(key) in a handler; outside of a handler no client can be asked',
}

/** Members of servers that nothing above has moved. */
function noteOtherUses(run: Run, source: Source): void {
  for (const node of source.nodes) {
    if (node.type !== 'MemberExpression' || run.isDone(node) || source.isReplaced(node)) continue
    const server = run.servers.kindOf(source, node.object)
    const member = memberOf(node)
    if (server === undefined || member === undefined || (server.kind === 'mcp' && member === 'server')) continue
    if (/^set(Request|Notification)Handler$/.test(member) || isMoved(run, source, node)) continue
    run.leave(
      source,
      node,
      `server.${member}`,
      'it has no counterpart of that name',
      HOW[member] ?? 'see the methods of a server of pannier/server',
    )
  }
}

function isMoved(run: Run, source: Source, node: Node): boolean {
  const parent = source.parentOf(node)
  return parent !== undefined && (run.isDone(parent) || source.isReplaced(node))
}
