/** A handler's questions: elicitation, sampling and roots of an SDK, rewritten as questions of a context. */
import type { CallExpression, Node } from 'oxc-parser'
import type { Run } from './run.ts'
import { sdkName } from './project.ts'
import type { Source } from './source.ts'
import { bare, type FunctionNode, isFunction, memberOf, propertyOf, stringOf } from './syntax.ts'

export type Kind = 'elicit' | 'sample' | 'roots'

const LOOPS = new Set(['ForStatement', 'ForOfStatement', 'ForInStatement', 'WhileStatement', 'DoWhileStatement'])
const BY_METHOD: Readonly<Record<string, Kind>> = {
  'elicitation/create': 'elicit',
  'sampling/createMessage': 'sample',
  'roots/list': 'roots',
}

/** A place in a handler from which a question can be asked. */
export interface Asker {
  readonly source: Source
  readonly fn: FunctionNode
  /** The name of the context. */
  readonly ctx: string
  readonly keys: Set<string>
}

/** Rewrites `elicitInput(params)`, `createMessage(params)` and `listRoots()`. Gives whether it was possible. */
export function rewriteQuestion(run: Run, asker: Asker, call: CallExpression, kind: Kind): boolean {
  const { source, ctx } = asker
  const [params, options] = call.arguments
  const refusal = refusalOf(asker, call, kind, params)
  if (refusal !== undefined) {
    run.leave(source, call, source.textOf(call.callee), ...refusal)
    return false
  }
  source.replace(call.callee, `${ctx}.${kind}`)
  const key = `'${keyFor(asker, call, kind)}'`
  if (kind === 'roots' || params === undefined) replaceArguments(source, call, key)
  else {
    source.insert(params.start, `${key}, `)
    renameSchema(source, params)
    if (options !== undefined) source.replace({ start: params.end, end: call.end - 1 }, '')
  }
  if (kind === 'roots') keepRoots(source, call)
  noteOptions(run, source, options)
  run.counts.questions++
  return true
}

/** Rewrites `sendRequest({ method: 'elicitation/create', params }, schema)`. */
export function rewriteRequest(run: Run, asker: Asker, call: CallExpression): boolean {
  const { source, ctx } = asker
  const [message, , options] = call.arguments
  const object = message && bare(message)
  const method = object?.type === 'ObjectExpression' ? propertyOf(object, 'method') : undefined
  const kind = method && BY_METHOD[stringOf(bare(method.value)) ?? '']
  if (kind === undefined || object?.type !== 'ObjectExpression') {
    run.leave(source, call, source.textOf(call.callee), 'which request it sends cannot be seen here', ASK)
    return false
  }
  const params = propertyOf(object, 'params')?.value
  const refusal = refusalOf(asker, call, kind, params)
  if (refusal !== undefined) {
    run.leave(source, call, source.textOf(call.callee), ...refusal)
    return false
  }
  const key = `'${keyFor(asker, call, kind)}'`
  source.replace(call.callee, `${ctx}.${kind}`)
  if (kind === 'roots' || params === undefined) replaceArguments(source, call, key)
  else {
    renameSchema(source, params)
    source.replace(argumentsOf(call), () => `${key}, ${source.render(params)}`)
  }
  if (kind === 'roots') keepRoots(source, call)
  noteOptions(run, source, options)
  run.counts.questions++
  return true
}

const ASK = "ask by ctx.ask(key, { message, schema }), ctx.elicit, ctx.visit or ctx.sample of the handler's context"

function refusalOf(
  asker: Asker,
  call: CallExpression,
  kind: Kind,
  params: Node | undefined,
): [string, string] | undefined {
  for (const node of asker.source.ancestorsOf(call)) {
    if (node === asker.fn) break
    if (LOOPS.has(node.type) || isFunction(node))
      return ['it is asked in a loop or a callback, and each question of a call needs a key of its own', ASK]
  }
  if (kind === 'roots') return undefined
  const object = params && bare(params)
  if (kind === 'sample') return params === undefined ? ['it has no parameters', ASK] : undefined
  if (object?.type !== 'ObjectExpression') return ['its form is made elsewhere', ASK]
  const mode = propertyOf(object, 'mode')
  if (mode !== undefined && stringOf(bare(mode.value)) !== 'form')
    return ['it sends the person to a page', 'use ctx.visit(key, url, message), which throws Declined when they refuse']
  return propertyOf(object, 'requestedSchema') === undefined ? ['its schema cannot be seen here', ASK] : undefined
}

/** `requestedSchema` of the wire is `schema` of a form. */
function renameSchema(source: Source, params: Node): void {
  const object = bare(params)
  const property = object.type === 'ObjectExpression' ? propertyOf(object, 'requestedSchema') : undefined
  if (property === undefined) return
  if (property.shorthand) source.insert(property.start, 'schema: ')
  else source.replace(property.key, 'schema')
}

/** `inputRequired.elicit(form)` and its siblings, in explicit style. */
export function rewriteInputRequest(source: Source, call: CallExpression): void {
  const { callee } = call
  const [params] = call.arguments
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return
  const named = sdkName(source, callee.object)
  if (named?.sdk !== 'v2' || named.name !== 'inputRequired') return
  const member = memberOf(callee)
  if (member === 'elicit' && params !== undefined && bare(params).type === 'ObjectExpression') {
    renameSchema(source, params)
    source.replace(call, () => source.render(params))
  } else if (member === 'createMessage' && params !== undefined)
    source.replace(call, () => `{ method: 'sampling/createMessage', params: ${source.render(params)} }`)
  else if (member === 'listRoots') source.replace(call, "{ method: 'roots/list' }")
}

/** The SDK gives `{ roots }`, the context the list. */
function keepRoots(source: Source, call: CallExpression): void {
  const parent = source.parentOf(call)
  const outer = parent?.type === 'AwaitExpression' ? parent : call
  source.insert(outer.start, '({ roots: ')
  source.insert(outer.end, ' })')
}

function noteOptions(run: Run, source: Source, options: Node | undefined): void {
  if (options === undefined) return
  const how = 'leave it out; ttlSeconds of createServer says how long a client may take between two rounds'
  run.leave(
    source,
    options,
    'the options of a question',
    'questions have no timeout of their own here; the option was removed',
    how,
  )
}

function keyFor({ source, keys }: Asker, call: CallExpression, kind: Kind): string {
  const parent = source.parentOf(call)
  const declarator = parent?.type === 'AwaitExpression' ? source.parentOf(parent) : parent
  const named =
    declarator?.type === 'VariableDeclarator' && declarator.id.type === 'Identifier' ? declarator.id.name : kind
  let key = named
  for (let count = 2; keys.has(key); count++) key = `${named}_${count}`
  keys.add(key)
  return key
}

function argumentsOf(call: CallExpression): { start: number; end: number } {
  const first = call.arguments[0]
  return { start: first?.start ?? call.end - 1, end: call.end - 1 }
}

function replaceArguments(source: Source, call: CallExpression, text: string): void {
  source.replace(argumentsOf(call), text)
}
