/**
 * Reads one file: its functions, their calls, and the places that each of them writes and reads. Names are resolved as
 * the language does; methods are matched by their names alone.
 */
import {
  type ClassFacts,
  type CodePlace,
  declaredIn,
  type FunctionFacts,
  functionFacts,
  isCollection,
  isEmpty,
  placeIn,
  type LexicalScope,
} from './places.ts'
import { type AnyNode, childrenOf, type FunctionNode, isFunction, memberOf, nameOf, namesIn } from './syntax.ts'

export interface FileFacts {
  readonly functions: FunctionFacts[]
  readonly places: CodePlace[]
}

interface ReadingContext {
  readonly file: string
  readonly facts: FileFacts
  readonly scope: LexicalScope
  readonly by: FunctionFacts
  readonly owner: ClassFacts | undefined
  /** Whether an object here is outside of all functions. */
  readonly isTable: boolean
}

const PUTTING: ReadonlySet<string> = new Set(['set', 'add', 'push', 'unshift', 'splice'])
const TAKING: ReadonlySet<string> = new Set(['delete', 'clear', 'pop', 'shift'])
const REGISTERING: ReadonlySet<string> = new Set(
  'tool registerTool addTool setRequestHandler resource registerResource addResource prompt registerPrompt addPrompt registerAppTool defineTool createTool'.split(
    ' ',
  ),
)
const BUILT_IN: ReadonlySet<string> = new Set(
  'console JSON Object Math Array Promise process Buffer Number String Date Reflect fs path z'.split(' '),
)

export function readProgramFile(file: string, program: AnyNode): FileFacts {
  const by = functionFacts(undefined, [])
  const facts: FileFacts = { functions: [by], places: [] }
  const scope: LexicalScope = { parent: undefined, places: new Map() }
  const context: ReadingContext = { file, facts, scope, by, owner: undefined, isTable: true }
  declare(program, context)
  read(program, context)
  return facts
}

function declare(text: AnyNode, context: ReadingContext): void {
  const { places } = context.scope
  for (const { name, at, holds, value } of declaredIn(text)) {
    if (places.has(name)) continue
    const place = holds ? newPlace(name, at, context, undefined) : undefined
    if (place !== undefined) place.isCollection = isCollection(value)
    places.set(name, place)
  }
}

function newPlace(
  name: string,
  at: AnyNode,
  { file, facts, by }: ReadingContext,
  owner: ClassFacts | undefined,
): CodePlace {
  const line = at.loc?.start.line ?? 0
  const place: CodePlace = {
    name,
    file,
    line,
    home: by,
    owner,
    isCollection: false,
    setBy: new Set(),
    filledBy: new Set(),
    readBy: new Set(),
  }
  facts.places.push(place)
  return place
}

function read(node: AnyNode, context: ReadingContext): void {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      return void readFunction(node, context)
    case 'ClassDeclaration':
    case 'ClassExpression':
      return readClass(node, context)
    case 'SwitchCase':
      if (node.test) read(node.test, context)
      return readAll(node.consequent, node.test?.type === 'Literal' ? asCase(context) : context)
    case 'IfStatement':
      read(node.test, context)
      read(node.consequent, isNamedTool(node.test) ? asCase(context) : context)
      return node.alternate ? read(node.alternate, context) : undefined
    case 'VariableDeclarator':
      if (node.init && isFunction(node.init)) return void readFunction(node.init, context, nameOf(node.id))
      if (node.init) read(node.init, context)
      return node.id.type === 'Identifier' ? undefined : readAll(childrenOf(node.id), context)
    case 'Property':
      return readProperty(node, context)
    case 'AssignmentExpression':
      return readAssignment(node, context)
    case 'UpdateExpression':
      return noteWrite(node.argument, context, 'setBy')
    case 'CallExpression':
      return readCall(node, context)
    case 'MemberExpression':
      placeAt(node, context)?.readBy.add(context.by)
      return readAll(node.computed ? [node.object, node.property] : [node.object], context)
    case 'Identifier':
      placeIn(context.scope, node.name)?.readBy.add(context.by)
      return
    default:
      return readAll(childrenOf(node), context)
  }
}

function readAll(nodes: readonly AnyNode[], context: ReadingContext): void {
  for (const node of nodes) read(node, context)
}

/** With a name, `this` is the object around it; another function has a `this` of its own, unless it is an arrow. */
function readFunction(node: FunctionNode, context: ReadingContext, name?: string): FunctionFacts {
  const by = functionFacts(context.by, [node.id?.name, name])
  context.facts.functions.push(by)
  const parameters = node.params.flatMap(namesIn).map((parameter) => [parameter, undefined] as const)
  const scope: LexicalScope = { parent: context.scope, places: new Map(parameters) }
  const owner = node.type === 'ArrowFunctionExpression' || name !== undefined ? context.owner : undefined
  const inside: ReadingContext = { ...context, scope, by, owner, isTable: false }
  declare(node.body, inside)
  readAll([...node.params, node.body], inside)
  return by
}

function readClass(
  node: Extract<AnyNode, { type: 'ClassDeclaration' | 'ClassExpression' }>,
  context: ReadingContext,
): void {
  if (node.superClass) read(node.superClass, context)
  const owner: ClassFacts = { name: node.id?.name, fields: new Map() }
  const inside: ReadingContext = { ...context, owner, isTable: false }
  for (const member of node.body.body) {
    const name = 'key' in member ? nameOf(member.key) : undefined
    const value = 'value' in member ? member.value : undefined
    if (value && isFunction(value)) readFunction(value, inside, name)
    else if (member.type !== 'PropertyDefinition') read(member, inside)
    else if (name !== undefined) {
      fieldOf(owner, name, member, inside).isCollection = isCollection(value)
      if (value) read(value, inside)
    }
  }
}

function readProperty(node: Extract<AnyNode, { type: 'Property' }>, context: ReadingContext): void {
  const { key, value, computed } = node
  if (computed) read(key, context)
  if (isFunction(value)) {
    const by = readFunction(value, context, nameOf(key))
    // A function in an object outside of all functions is called by a name that the call brings.
    if (context.isTable) by.isHandler = true
    return
  }
  read(value, context)
}

function readAssignment(node: Extract<AnyNode, { type: 'AssignmentExpression' }>, context: ReadingContext): void {
  const { left, right } = node
  if (left.type === 'ObjectPattern' || left.type === 'ArrayPattern') {
    for (const name of namesIn(left)) placeIn(context.scope, name)?.setBy.add(context.by)
  } else {
    if (!isEmpty(right)) noteWrite(left, context, 'setBy')
    if (left.type === 'MemberExpression') read(left.object, context)
  }
  if (isFunction(right)) return void readFunction(right, context, nameOf(left) ?? memberOf(left))
  const place = placeAt(left, context)
  if (place !== undefined) place.isCollection ||= isCollection(right)
  read(right, context)
}

function readCall(node: Extract<AnyNode, { type: 'CallExpression' }>, context: ReadingContext): void {
  const { callee } = node
  const { facts, by } = context
  const name = nameOf(callee) ?? memberOf(callee)
  if (callee.type === 'MemberExpression') readMethodCall(callee, context)
  else {
    if (name !== undefined) by.calls.add(name)
    read(callee, context)
  }
  const isRegistered = REGISTERING.has(name ?? '')
  for (const argument of node.arguments) {
    const passed = argument.type === 'Literal' ? undefined : (nameOf(argument) ?? memberOf(argument))
    if (passed !== undefined) by.calls.add(passed)
  }
  const before = facts.functions.length
  // Arguments of a bundler's own functions are no table of handlers.
  readAll(node.arguments, name?.startsWith('__') ? { ...context, isTable: false } : context)
  if (isRegistered) for (const one of facts.functions.slice(before)) one.isHandler ||= one.parent === by
}

function readMethodCall(callee: Extract<AnyNode, { type: 'MemberExpression' }>, context: ReadingContext): void {
  const { object } = callee
  const name = memberOf(callee) ?? ''
  const place = placeAt(object, context)
  if (PUTTING.has(name)) noteWrite(object, context, 'filledBy')
  if (name !== '' && !BUILT_IN.has(nameOf(object) ?? '') && !place?.isCollection) context.by.calls.add(name)
  if (place === undefined || !(PUTTING.has(name) || TAKING.has(name))) read(object, context)
  if (callee.computed) read(callee.property, context)
}

/** Records a write to a place, or to a member of it. */
function noteWrite(target: AnyNode, context: ReadingContext, how: 'setBy' | 'filledBy'): void {
  const place = placeAt(target, context)
  if (place !== undefined) place[how].add(context.by)
  else if (target.type === 'ChainExpression') noteWrite(target.expression, context, how)
  else if (target.type === 'MemberExpression') noteWrite(target.object, context, 'filledBy')
}

/** The place that an expression is about: `x`, `this.x`. */
function placeAt(node: AnyNode, context: ReadingContext): CodePlace | undefined {
  if (node.type === 'Identifier') return placeIn(context.scope, node.name)
  if (node.type === 'ChainExpression') return placeAt(node.expression, context)
  const member = memberOf(node)
  if (node.type !== 'MemberExpression' || node.object.type !== 'ThisExpression') return undefined
  return context.owner && member !== undefined ? fieldOf(context.owner, member, node, context) : undefined
}

function fieldOf(owner: ClassFacts, name: string, at: AnyNode, context: ReadingContext): CodePlace {
  const place = owner.fields.get(name) ?? newPlace(name, at, context, owner)
  owner.fields.set(name, place)
  return place
}

/** The code for one name of several is like a function of its own: each call runs one of them. */
function asCase(context: ReadingContext): ReadingContext {
  if (context.by.parent === undefined) return context
  const by = functionFacts(context.by, [], true)
  context.facts.functions.push(by)
  return { ...context, by }
}

/** `if (name === 'get_page')` */
function isNamedTool(test: AnyNode): boolean {
  if (test.type !== 'BinaryExpression' || !/^===?$/.test(test.operator)) return false
  const { left, right } = test
  const isText = right.type === 'Literal' && typeof right.value === 'string'
  return isText && /^(name|tool\w*|action|operation|command)$/i.test(nameOf(left) ?? memberOf(left) ?? '')
}
