/** The context of a handler: its variable, and the replacement of each use. */
import type { CallExpression, Node, ObjectExpression } from 'oxc-parser'
import { type Binding, bindingOf, namesIn, referencesTo } from './names.ts'
import { dropAwait } from './objects.ts'
import type { Sdk } from './project.ts'
import { type Asker, rewriteQuestion, rewriteRequest } from './questions.ts'
import type { Run } from './run.ts'
import type { Source } from './source.ts'
import { bare, callOf, type FunctionNode, memberOf, propertyOf, stringOf } from './syntax.ts'

export interface Handler {
  readonly source: Source
  readonly fn: FunctionNode
  readonly sdk: Sdk
  /** The position of the context among the SDK's parameters. */
  readonly index: number
  /** How many arguments come before the context in Pannier. */
  readonly before: number
}

/** Rewrites the parameters of a handler and everything that it does with its context. */
export function rewriteHandler(run: Run, handler: Handler): void {
  const { source, fn, index, before } = handler
  if (!run.begin(fn)) return
  const param = fn.params[index]
  const names = takenOut(param)
  const given = param?.type === 'Identifier' ? param.name : undefined
  const ctx = given ?? freeName(source)
  const asker: Asker = { source, fn, ctx, keys: new Set() }
  const uses = param === undefined ? [] : usesOf(source, fn, param)
  let needsContext = false
  for (const call of serverCallsIn(run, source, fn)) needsContext = rewriteServerCall(run, asker, call) || needsContext
  for (const use of uses) needsContext = (!run.isDone(use.node) && rewriteUse(run, handler, asker, use)) || needsContext
  if (param?.type === 'ObjectPattern') source.replace(param, needsContext || names > 0 ? ctx : `_${ctx}`)
  else if (param === undefined && needsContext) addParameters(source, fn, [...blanks(fn.params.length, before), ctx])
  else if (param?.type === 'Identifier' && param.typeAnnotation != null)
    source.replace(param.typeAnnotation, `: ${run.nameOf(source, 'Context')}`)
  if (param !== undefined && before > index) prependParameters(source, fn, param, blanks(index, before))
  if (asker.keys.size > 0) noteEarlierWork(run, asker)
}

/** How many names a pattern takes out of the context. */
function takenOut(param: Node | undefined): number {
  return param?.type === 'ObjectPattern' ? param.properties.length : 0
}

const blanks = (from: number, to: number): string[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, at) => (from + at === 0 ? '_args' : `_${from + at}`))

function freeName(source: Source): string {
  const names = namesIn(source)
  return ['ctx', 'context', 'callContext'].find((name) => !names.has(name)) ?? 'pannierContext'
}

function prependParameters(source: Source, fn: FunctionNode, first: Node, names: readonly string[]): void {
  const isBare = fn.type === 'ArrowFunctionExpression' && !source.text.slice(fn.start, first.start).includes('(')
  source.insert(first.start, `${isBare ? '(' : ''}${names.join(', ')}, `)
  if (isBare) source.insert(first.end, ')')
}

/** Adds parameters at the end, and parentheses if an arrow function lacks them. */
export function addParameters(source: Source, fn: FunctionNode, names: readonly string[]): void {
  const last = fn.params.at(-1)
  if (last === undefined) {
    const open = source.text.indexOf('(', fn.typeParameters?.end ?? fn.start)
    source.insert(open + 1, names.join(', '))
    return
  }
  const isBare = fn.type === 'ArrowFunctionExpression' && !source.text.slice(fn.start, last.start).includes('(')
  if (isBare) source.insert(last.start, '(')
  source.insert(last.end, `, ${names.join(', ')}${isBare ? ')' : ''}`)
}

/** One use of the context: the longest path of members with its node, and the nodes of shorter paths. */
interface Use {
  readonly path: readonly string[]
  readonly node: Node
  readonly nodes: readonly Node[]
}

function usesOf(source: Source, fn: FunctionNode, param: Node): Use[] {
  if (param.type === 'Identifier') {
    const binding = bindingOf(source, fn.body ?? fn, param.name) ?? undefined
    const own = binding?.id === param ? binding : ({ kind: 'parameter', id: param, node: param, fn } as Binding)
    return referencesTo(source, own).map((reference) => climb(source, reference, [], []))
  }
  if (param.type !== 'ObjectPattern') return []
  return param.properties.flatMap((property) => {
    if (property.type !== 'Property' || property.key.type !== 'Identifier' || property.value.type !== 'Identifier')
      return []
    const own = { kind: 'parameter', id: property.value, node: param, fn } as Binding
    const { name } = property.key
    return referencesTo(source, own).map((reference) => climb(source, reference, [name], [reference]))
  })
}

function climb(source: Source, node: Node, path: readonly string[], nodes: readonly Node[]): Use {
  const parent = source.parentOf(node)
  const member = parent?.type === 'MemberExpression' && parent.object === node ? memberOf(parent) : undefined
  return parent === undefined || member === undefined
    ? { path, node, nodes }
    : climb(source, parent, [...path, member], [...nodes, parent])
}

const REQUEST_INFO =
  'Pannier keeps no session; the caller is ctx.principal (createServer({ principal })), and what must last lies in your store by that id'
const HOW: Readonly<Record<string, string>> = {
  sessionId: REQUEST_INFO,
  session: REQUEST_INFO,
  authInfo: REQUEST_INFO,
  http: `headers are read by the hook createServer({ principal }); ${REQUEST_INFO}`,
  requestInfo: `headers are read by the hook createServer({ principal }); ${REQUEST_INFO}`,
  requestId: 'use an id of your own, such as randomUUID() in ctx.step',
  streamContent: 'no client shows it; say how far the call is by ctx.progress(progress, total, message)',
  taskId: 'see the option task of server.tool, and ctx.taskId',
  taskStore: 'see the option task of server.tool: createServer({ tasks: sqliteTasks({ path }) })',
}

/** Gives whether the use still needs the context. */
function rewriteUse(run: Run, { sdk }: Handler, asker: Asker, { path, node, nodes }: Use): boolean {
  const { source, ctx } = asker
  const depth = sdk === 'v2' && path[0] === 'mcpReq' ? 1 : 0
  const [first = '', second = ''] = path.slice(depth)
  const call = callOf(node, source.parentOf(node))
  const [simple, simpleNode] = [SIMPLE[first], nodes[depth]]
  if (simple !== undefined && simpleNode !== undefined) return replaceNode(source, simpleNode, `${ctx}.${simple}`)
  if (call !== undefined) {
    if (first === 'sendNotification' || first === 'notify')
      return rewriteNotification(run, asker, call, call.arguments[0])
    if (first === 'sendRequest' || first === 'send') return rewriteRequest(run, asker, call)
    if (first === 'elicitInput' || first === 'elicit') return rewriteQuestion(run, asker, call, 'elicit')
    if (first === 'requestSampling') return rewriteQuestion(run, asker, call, 'sample')
    if (first === 'reportProgress') return rewriteProgress(run, asker, call, call.arguments[0])
    if (first === 'log' && sdk === 'fastmcp') return rewriteFastLog(asker, call, second)
    if (first === 'log') return replaceLog(asker, call)
    if (first === 'requestState') return replaceState(asker, call)
  }
  if (sdk === 'fastmcp' && first === 'client' && second === 'version') return replaceNode(source, node, `${ctx}.client`)
  const what = path.length === 0 ? source.textOf(node) : path.join('.')
  const why = path.length === 0 ? 'the context is passed on' : 'the context of Pannier has no such member'
  const how = HOW[first] ?? 'see the type Context of pannier/server; pass on what is needed of it'
  run.leave(source, node, `${what} in a handler`, why, how)
  return true
}

const SIMPLE: Readonly<Record<string, string>> = {
  signal: 'signal',
  _meta: 'meta',
  inputResponses: 'inputResponses',
}

function replaceNode(source: Source, node: Node, text: string): true {
  source.replace(node, text)
  return true
}

function replaceLog({ source, ctx }: Asker, call: CallExpression): true {
  dropAwait(source, call)
  return replaceNode(source, call.callee, `${ctx}.log`)
}

/** `requestState<T>()` is a member that is typed by hand. */
function replaceState({ source, ctx }: Asker, call: CallExpression): true {
  const [type] = call.typeArguments?.params ?? []
  const state = `${ctx}.requestState`
  source.replace(call, type === undefined ? state : `(${state} as ${source.textOf(type)} | undefined)`)
  return true
}

const FAST_LEVELS: Readonly<Record<string, string>> = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' }

/** FastMCP sends log messages as `{ message, context }`. */
function rewriteFastLog({ source, ctx }: Asker, call: CallExpression, level: string): boolean {
  const [message, data] = call.arguments
  source.replace(call, () => {
    const parts = [message && `message: ${source.render(message)}`, data && `context: ${source.render(data)}`]
    return `${ctx}.log('${FAST_LEVELS[level] ?? level}', { ${parts.filter(Boolean).join(', ')} })`
  })
  return true
}

function rewriteNotification(run: Run, asker: Asker, call: CallExpression, message: Node | undefined): boolean {
  const object = message && bare(message)
  const method = object?.type === 'ObjectExpression' ? propertyOf(object, 'method') : undefined
  const params = object?.type === 'ObjectExpression' ? propertyOf(object, 'params')?.value : undefined
  const name = method && stringOf(bare(method.value))
  if (name === 'notifications/progress') return rewriteProgress(run, asker, call, params)
  if (name === 'notifications/message') return rewriteLog(run, asker, call, params)
  const { source } = asker
  run.leave(
    source,
    call,
    source.textOf(call.callee),
    `it sends ${name ?? 'a notification that cannot be seen here'}`,
    NOTIFY,
  )
  return true
}

const NOTIFY = 'use ctx.progress, ctx.log, server.changed(list) or server.updated(uri)'

function rewriteProgress(run: Run, asker: Asker, call: CallExpression, params: Node | undefined): boolean {
  return replaceByMembers(run, asker, call, params, 'progress', ['progress', 'total', 'message'])
}

function rewriteLog(run: Run, asker: Asker, call: CallExpression, params: Node | undefined): boolean {
  return replaceByMembers(run, asker, call, params, 'log', ['level', 'data', 'logger'])
}

/** `f({ a, b })` becomes `ctx.method(a, b)`. */
function replaceByMembers(
  run: Run,
  { source, ctx }: Asker,
  call: CallExpression,
  params: Node | undefined,
  method: string,
  names: readonly string[],
): boolean {
  const object = params && bare(params)
  const hasSpread = object?.type === 'ObjectExpression' && object.properties.some(({ type }) => type !== 'Property')
  if (object?.type !== 'ObjectExpression' || hasSpread) {
    const how = `use ctx.${method}(${names.join(', ')})`
    run.leave(source, call, source.textOf(call.callee), 'what it sends cannot be seen here', how)
    return true
  }
  dropAwait(source, call)
  source.replace(call, () => `${ctx}.${method}(${valuesOf(source, object, names).join(', ')})`)
  return true
}

function valuesOf(source: Source, object: ObjectExpression, names: readonly string[]): string[] {
  const values = names.map((name) => propertyOf(object, name)?.value)
  const last = values.findLastIndex((value) => value !== undefined)
  return values.slice(0, last + 1).map((value) => (value === undefined ? 'undefined' : source.render(value)))
}

/** Calls on a server in a handler that ask or notify the client. */
function serverCallsIn(run: Run, source: Source, fn: FunctionNode): CallExpression[] {
  return source.within(fn).filter((node): node is CallExpression => {
    if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return false
    const member = memberOf(node.callee)
    return (
      member !== undefined && member in SERVER_CALLS && run.servers.kindOf(source, node.callee.object) !== undefined
    )
  })
}

const SERVER_CALLS: Readonly<Record<string, (run: Run, asker: Asker, call: CallExpression) => boolean>> = {
  elicitInput: (run, asker, call) => rewriteQuestion(run, asker, call, 'elicit'),
  createMessage: (run, asker, call) => rewriteQuestion(run, asker, call, 'sample'),
  listRoots: (run, asker, call) => rewriteQuestion(run, asker, call, 'roots'),
  request: (run, asker, call) => rewriteRequest(run, asker, call),
  sendLoggingMessage: (run, asker, call) => rewriteLog(run, asker, call, call.arguments[0]),
  notification: (run, asker, call) => rewriteNotification(run, asker, call, call.arguments[0]),
}

function rewriteServerCall(run: Run, asker: Asker, call: CallExpression): boolean {
  const member = memberOf(call.callee) ?? ''
  if (!run.begin(call.callee)) return false
  // Options say which request a notification belongs to, which is known here.
  for (const options of call.arguments.slice(1)) for (const node of asker.source.within(options)) run.begin(node)
  return SERVER_CALLS[member]?.(run, asker, call) ?? false
}

/** Each round runs the handler again from its first line. */
function noteEarlierWork(run: Run, { source, fn }: Asker): void {
  const body = source.within(fn)
  const asked = body.find((node) => node.type === 'CallExpression' && source.isReplaced(node.callee))
  if (asked === undefined) return
  const early = body.filter((node) => node.type === 'AwaitExpression' && node.end < asked.start)
  if (early.length === 0) return
  const lines = [...new Set(early.map(({ start }) => source.lineAt(start)))].join(', ')
  const why = `the handler runs again from its first line in each round, so that the awaited work in line ${lines} is repeated`
  run.leave(source, fn, 'work before a question', why, "wrap what must happen once: await ctx.step('name', () => …)")
}
