/**
 * `setRequestHandler` of the class Server: becomes a loop over the list of tools, which registers each tool with the
 * common handler.
 */
import type { CallExpression, Node } from 'oxc-parser'
import { rewriteHandler } from './handler.ts'
import { namesIn } from './names.ts'
import { indentAt } from './objects.ts'
import { calleeObject } from './registrations.ts'
import type { Run } from './run.ts'
import type { ServerKind } from './servers.ts'
import { childrenOf, type Source } from './source.ts'
import { bare, type FunctionNode, propertyOf, returnedBy, stringOf } from './syntax.ts'

/** The method that the first argument of setRequestHandler names: a schema of version 1, or a string. */
function methodOf(call: CallExpression): string | undefined {
  const first = call.arguments[0] && bare(call.arguments[0])
  if (first?.type === 'Identifier') return METHODS[first.name]
  return stringOf(first)
}

const METHODS: Readonly<Record<string, string>> = {
  ListToolsRequestSchema: 'tools/list',
  CallToolRequestSchema: 'tools/call',
  ListPromptsRequestSchema: 'prompts/list',
  GetPromptRequestSchema: 'prompts/get',
  ListResourcesRequestSchema: 'resources/list',
  ListResourceTemplatesRequestSchema: 'resources/templates/list',
  ReadResourceRequestSchema: 'resources/read',
  SubscribeRequestSchema: 'resources/subscribe',
  UnsubscribeRequestSchema: 'resources/unsubscribe',
  CompleteRequestSchema: 'completion/complete',
  SetLevelRequestSchema: 'logging/setLevel',
  PingRequestSchema: 'ping',
}

const HOW: Readonly<Record<string, string>> = {
  'tools/list': 'register each tool: server.tool(name, { description, input }, handler)',
  'tools/call': 'register each tool: server.tool(name, { description, input }, handler)',
  'prompts/list': 'register each prompt: server.prompt(name, { description, input }, handler)',
  'prompts/get': 'register each prompt: server.prompt(name, { description, input }, handler)',
  'resources/list': 'register each: server.resource(uri, { name, mimeType }, handler)',
  'resources/read': 'register each: server.resource(uri, { name, mimeType }, handler), or one server.resourceTemplate',
  'resources/templates/list': 'server.resourceTemplate(template, { name }, handler)',
  'resources/subscribe': 'take it out: Pannier knows who watches what; call server.updated(uri) at each change',
  'resources/unsubscribe': 'take it out: Pannier knows who watches what',
  'completion/complete': 'server.completion({ prompt, argument }, handler)',
  'logging/setLevel': 'take it out: ctx.log knows the level',
  ping: 'take it out: Pannier answers pings',
}

interface Pair {
  readonly list: CallExpression
  readonly call: CallExpression
}

/** Rewrites all handlers of one server, given their calls. */
export function rewriteHandlers(run: Run, source: Source, calls: readonly CallExpression[], server: ServerKind): void {
  const byMethod = new Map(calls.map((call) => [methodOf(call), call]))
  const [list, call] = [byMethod.get('tools/list'), byMethod.get('tools/call')]
  const written = list && call && server.kind === 'low' && rewriteTools(run, source, { list, call }, server)
  for (const one of calls) {
    if (written && (one === list || one === call)) continue
    const method = methodOf(one) ?? 'a method that cannot be read here'
    run.leave(
      source,
      one,
      `the handler of ${method}`,
      'Pannier answers it from what is registered',
      HOW[method] ?? 'register what it offers with server.tool, server.prompt or server.resource',
    )
  }
}

function rewriteTools(run: Run, source: Source, { list, call }: Pair, server: ServerKind): boolean {
  const [listStatement, callStatement] = [source.parentOf(list), source.parentOf(call)]
  const inOnePlace =
    listStatement?.type === 'ExpressionStatement' &&
    callStatement?.type === 'ExpressionStatement' &&
    source.parentOf(listStatement) === source.parentOf(callStatement)
  const tools = toolsIn(run, source, list)
  const [, handler] = call.arguments
  const found = handler && run.servers.functionOf(source, handler)
  if (!inOnePlace || tools === undefined || handler === undefined || found === undefined) return false
  rewriteHandler(run, { ...found, sdk: server.sdk, index: 1, before: 1 })
  typeHandler(run, found.source, found.fn)
  const indent = indentAt(source, callStatement.start)
  const name = namesIn(source).has('callTool') ? 'callAnyTool' : 'callTool'
  if (!isJavaScript(source)) {
    run.needType(source, 'Tool')
    run.nameOf(source, 'ToolOptions')
  }
  const called = (): string => {
    const isNamed = bare(handler).type === 'Identifier'
    const text = isNamed ? '' : `const ${name} = ${source.render(handler)}\n${indent}`
    return (
      text + loopOver(run, source, tools, calleeObject(call), isNamed ? source.textOf(handler) : name, found.fn, indent)
    )
  }
  const isFirst = listStatement.start < callStatement.start
  source.replace(isFirst ? callStatement : listStatement, called)
  removeWith(source, isFirst ? listStatement : callStatement)
  run.counts.tools += countOf(run, source, tools)
  return true
}

function removeWith(source: Source, statement: Node): void {
  const rest = /^[ \t]*\r?\n(?:[ \t]*\r?\n)?/.exec(source.text.slice(statement.end))?.[0].length ?? 0
  const lineStart = source.text.lastIndexOf('\n', statement.start - 1) + 1
  source.replace({ start: lineStart, end: statement.end + rest }, '')
}

/** The expression of all tools, if the list handler only returns it. */
function toolsIn(run: Run, source: Source, list: CallExpression): Node | undefined {
  const [, handler] = list.arguments
  const found = handler && run.servers.functionOf(source, handler)
  if (found === undefined || found.source !== source) return undefined
  const { body } = found.fn
  if (body?.type === 'BlockStatement' && body.body.length !== 1) return undefined
  const [value, ...more] = returnedBy(found.fn, childrenOf)
  const object = value && bare(value)
  if (more.length > 0 || object?.type !== 'ObjectExpression' || object.properties.length !== 1) return undefined
  return propertyOf(object, 'tools')?.value
}

/** The SDK infers the types of the request and of the result from the method. */
function typeHandler(run: Run, source: Source, fn: FunctionNode): void {
  const [request] = fn.params
  if (request === undefined || isJavaScript(source)) return
  const type = ': { params: { name: string; arguments?: Record<string, unknown> } }'
  const isBare = fn.type === 'ArrowFunctionExpression' && !source.text.slice(fn.start, request.start).includes('(')
  if ('typeAnnotation' in request && request.typeAnnotation != null) source.replace(request.typeAnnotation, type)
  else {
    if (isBare) source.insert(request.start, '(')
    source.insert(request.end, isBare ? `${type})` : type)
  }
  const last = fn.params.at(-1) ?? request
  const result = `: Promise<${run.needType(source, 'CallToolResult')}>`
  if (fn.returnType != null || !fn.async) return
  source.insert(isBare ? last.end : source.text.indexOf(')', last.end) + 1, result)
}

const isJavaScript = ({ path }: Source): boolean => /\.[cm]?jsx?$/.test(path)

function loopOver(
  run: Run,
  source: Source,
  tools: Node,
  server: Node,
  handler: string,
  fn: FunctionNode,
  indent: string,
): string {
  const [params, given] = fn.params.length > 1 || usesContext(source, fn) ? ['args, ctx', ', ctx'] : ['args', '']
  const [list, options] = isJavaScript(source)
    ? ['', '']
    : [` as ${run.needType(source, 'Tool')}[]`, ` as ${run.nameOf(source, 'ToolOptions')}<Tool['inputSchema']>`]
  return [
    `for (const { name, description = name, inputSchema, outputSchema, ...rest } of ${source.render(tools)}${list}) {`,
    `  const options = { ...rest, description, input: inputSchema, ...(outputSchema && { output: outputSchema }) }`,
    `  ${source.textOf(server)}.tool(name, options${options}, (${params}) => ${handler}({ params: { name, arguments: args } }${given}))`,
    '}',
  ].join(`\n${indent}`)
}

/** Whether a parameter was added for the context. */
function usesContext(source: Source, fn: FunctionNode): boolean {
  return fn.body != null && /\bctx\b/.test(source.render({ start: fn.start, end: fn.body.start }))
}

function countOf(run: Run, source: Source, tools: Node): number {
  const node = bare(tools)
  if (node.type === 'ArrayExpression') return node.elements.length
  const found = node.type === 'Identifier' ? run.project.definitionOf(source, node) : undefined
  const init = found?.binding.kind === 'variable' ? found.binding.node.init : undefined
  return init != null && bare(init).type === 'ArrayExpression' ? countOf(run, source, init) : 1
}
