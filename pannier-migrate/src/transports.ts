/** How a server of the official SDK is served: transports, `serveStdio` and `createMcpHandler`. */
import type { CallExpression, Node } from 'oxc-parser'
import { bindingOf, referencesTo } from './names.ts'
import { removeStatement } from './objects.ts'
import { sdkName } from './project.ts'
import { calleeObject } from './registrations.ts'
import type { Run } from './run.ts'
import type { Source } from './source.ts'
import { bare, isFunction } from './syntax.ts'

const HTTP =
  "replace the routes by app.all('/mcp', server.nodeHandler()), or by await server.listen({ port }); sessions, streams and their store go away"

const HOW: Readonly<Record<string, string>> = {
  StreamableHTTPServerTransport: HTTP,
  NodeStreamableHTTPServerTransport: HTTP,
  WebStandardStreamableHTTPServerTransport: 'serve the server itself: server.fetch(request)',
  SSEServerTransport: `clients of the old SSE transport are not served; ${HTTP}`,
  InMemoryTransport: 'use testClient(server) of pannier/testing, or server.stdio({ input, output })',
}

/** `server.connect(transport)`: over stdio it is `server.stdio()`, everything else is left. */
export function rewriteConnect(run: Run, source: Source, call: CallExpression): void {
  const [transport] = call.arguments
  const made = transport && transportOf(source, bare(transport))
  if (made?.name !== 'StdioServerTransport') {
    const name = made?.name ?? 'a transport'
    return run.leave(
      source,
      call,
      `connecting to ${name}`,
      'where requests come from is the application’s own',
      HOW[name] ?? HTTP,
    )
  }
  const hasArguments = made.node.type === 'NewExpression' && made.node.arguments.length > 0
  if (hasArguments)
    return run.leave(
      source,
      call,
      'stdio with streams of its own',
      'they were not moved',
      'server.stdio({ input, output })',
    )
  if (made.statement !== undefined) removeStatement(source, made.statement)
  const text = `${source.textOf(calleeObject(call))}.stdio()`
  const parent = source.parentOf(call)
  const awaited = parent?.type === 'AwaitExpression' ? parent : undefined
  const statement = awaited && source.parentOf(awaited)
  // server.stdio() resolves at the end of the input, so later statements would wait for that.
  if (awaited && statement?.type === 'ExpressionStatement' && !isLast(source, statement))
    source.replace(awaited, `void ${text}`)
  else source.replace(call, text)
  noteThen(run, source, call)
}

function noteThen(run: Run, source: Source, call: CallExpression): void {
  const parent = source.parentOf(call)
  if (parent?.type !== 'MemberExpression' || source.textOf(parent.property) !== 'then') return
  run.leave(
    source,
    call,
    'what follows server.connect',
    'server.stdio() resolves when the client has left',
    'do it before server.stdio()',
  )
}

function isLast(source: Source, statement: Node): boolean {
  const parent = source.parentOf(statement)
  return (parent?.type === 'BlockStatement' || parent?.type === 'Program') && parent.body.at(-1) === statement
}

interface Made {
  readonly name: string
  readonly node: Node
  /** The declaration, if nothing else uses the transport. */
  readonly statement: Node | undefined
}

function transportOf(source: Source, node: Node): Made | undefined {
  if (node.type === 'NewExpression') {
    const named = sdkName(source, node.callee)
    return named && { name: named.name, node, statement: undefined }
  }
  if (node.type !== 'Identifier') return undefined
  const binding = bindingOf(source, node, node.name)
  if (binding?.kind !== 'variable' || binding.node.init == null) return undefined
  const made = transportOf(source, bare(binding.node.init))
  const statement = source.parentOf(binding.node)
  const isAlone = statement?.type === 'VariableDeclaration' && statement.declarations.length === 1
  const isUsedOnce = referencesTo(source, binding).length === 1
  return made && { ...made, statement: isAlone && isUsedOnce ? statement : undefined }
}

/** `serveStdio(factory)` */
export function rewriteServeStdio(run: Run, source: Source, call: CallExpression): void {
  const made = serverMadeBy(run, source, call)
  const parent = source.parentOf(call)
  const isDropped =
    parent?.type === 'ExpressionStatement' || (parent?.type === 'UnaryExpression' && parent.operator === 'void')
  const isAwaited = parent?.type === 'AwaitExpression' && source.parentOf(parent)?.type === 'ExpressionStatement'
  if (made === undefined || !(isDropped || isAwaited) || call.arguments.length > 1)
    return run.leave(
      source,
      call,
      'serveStdio',
      made === undefined ? FACTORY : 'its options, or what it returns, have no counterpart',
      'await server.stdio()',
    )
  const outer = isAwaited && parent !== undefined ? parent : call
  source.replace(outer, `${parent?.type === 'UnaryExpression' ? '' : 'void '}${made}.stdio()`)
}

/** `createMcpHandler(factory)`: a server has `fetch` itself. */
export function rewriteMcpHandler(run: Run, source: Source, call: CallExpression): void {
  const made = serverMadeBy(run, source, call)
  if (made === undefined || call.arguments.length > 1)
    return run.leave(
      source,
      call,
      'createMcpHandler',
      made === undefined ? FACTORY : 'its options have no counterpart of the same kind',
      'make one server: server.fetch, server.nodeHandler() or server.listen({ port })',
    )
  source.replace(call, made)
  const declarator = source.parentOf(call)
  if (declarator?.type !== 'VariableDeclarator' || declarator.id.type !== 'Identifier') return
  const binding = bindingOf(source, call, declarator.id.name)
  for (const reference of binding === undefined ? [] : referencesTo(source, binding))
    rewriteHandlerUse(run, source, reference)
}

const FACTORY =
  'the function that makes servers takes the request, or cannot be read here; one server of Pannier serves all requests'

function rewriteHandlerUse(run: Run, source: Source, reference: Node & { type: 'Identifier' }): void {
  const parent = source.parentOf(reference)
  if (
    parent?.type === 'CallExpression' &&
    parent.arguments[0] === reference &&
    sdkName(source, parent.callee)?.name === 'toNodeHandler'
  )
    return source.replace(parent, `${reference.name}.nodeHandler()`)
  if (parent?.type !== 'MemberExpression' || parent.object !== reference) return
  const member = source.textOf(parent.property)
  if (member === 'close') return source.replace(parent.property, 'drain')
  if (member === 'notify' || member === 'bus')
    return run.leave(
      source,
      reference,
      `handler.${member}`,
      'it has no counterpart of that name',
      'server.changed(list) and server.updated(uri)',
    )
  const call = source.parentOf(parent)
  if (member === 'fetch' && call?.type === 'CallExpression' && call.arguments.length > 1)
    run.leave(
      source,
      reference,
      'the options of handler.fetch',
      'fetch takes only the request',
      'who calls is said by createServer({ principal })',
    )
}

/** The expression that makes the server, from a factory without parameters. */
function serverMadeBy(run: Run, source: Source, call: CallExpression): string | undefined {
  const [factory] = call.arguments
  const found = factory && run.servers.functionOf(source, factory)
  if (factory === undefined || found === undefined || found.fn.params.length > 0 || found.fn.async) return undefined
  const node = bare(factory)
  if (!isFunction(node)) return `${source.textOf(node)}()`
  const body = node.body
  const isExpression = body != null && body.type !== 'BlockStatement'
  return isExpression ? source.render(body) : `(${source.render(node)})()`
}
