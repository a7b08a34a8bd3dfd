/**
 * Reads one file: which functions there are and whom they call, and which places are written and read by which of them.
 * Names are resolved as the language does; methods are matched by their names alone.
 */
import {
  keyOf,
  returnsEarlyOn,
  type AnyNode,
  childrenOf,
  type FunctionNode,
  isFunction,
  memberOf,
  nameOf,
  namesIn,
} from './syntax.ts'
import {
  asCase,
  noteExported,
  noteExports,
  noteImports,
  noteOrigin,
  declare,
  fieldOf,
  type FileFacts,
  isNamedTool,
  newPlace,
  noteStatement,
  noteWrite,
  placeAt,
  type ReadingContext,
  under,
  valueOf,
} from './writes.ts'
import {
  type ClassFacts,
  declaredIn,
  type FunctionFacts,
  functionFacts,
  type FunctionNames,
  isCollection,
  type LexicalScope,
  placeIn,
  startOf,
} from './places.ts'

const PUTTING: ReadonlySet<string> = new Set(['set', 'add', 'push', 'unshift', 'splice'])
const TAKING: ReadonlySet<string> = new Set(['delete', 'clear', 'pop', 'shift'])
const REGISTERING: ReadonlySet<string> = new Set(
  'tool registerTool addTool setRequestHandler resource registerResource addResource prompt registerPrompt addPrompt registerAppTool defineTool createTool'.split(
    ' ',
  ),
)
const LISTENING: ReadonlySet<string> = new Set(['on', 'once', 'addEventListener'])
const BUILT_IN: ReadonlySet<string> = new Set(
  'console JSON Object Math Array Promise process Buffer Number String Date Reflect fs path z'.split(' '),
)

export function readProgramFile(file: string, program: AnyNode, lineAt: (at: number) => number): FileFacts {
  const top = functionFacts(undefined, undefined, [])
  const lists = { functions: [top], places: [], classes: [], made: [], imports: [], exports: new Map() }
  const facts: FileFacts = { file, lineAt, ...lists }
  const scope: LexicalScope = { parent: undefined, home: top, places: new Map() }
  const outside = { home: top, owner: undefined, isFixed: false, start: 'object', at: 0 } as const
  const environment = newPlace(facts, 'process.env', outside)
  const body = program.type === 'Program' ? program.body : []
  declare(facts, scope, declaredIn(body, true))
  readAll(body, { facts, environment, scope, by: top, owner: undefined, absent: new Set(), isTable: true })
  return facts
}

function read(node: AnyNode, context: ReadingContext): void {
  noteStatement(node, context)
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      return void readFunction(node, context, [])
    case 'ClassDeclaration':
    case 'ClassExpression':
      return readClass(node, context)
    case 'BlockStatement':
    case 'StaticBlock':
      return readBlock(node.body, context)
    case 'ForStatement':
    case 'ForInStatement':
    case 'ForOfStatement':
    case 'SwitchStatement':
      return readBlock(childrenOf(node), context)
    case 'SwitchCase':
      if (node.test) read(node.test, context)
      return readAll(node.consequent, node.test?.type === 'Literal' ? asCase(context) : context)
    case 'VariableDeclarator':
      return readVariable(node, context)
    case 'Property':
      return readProperty(node, context)
    case 'IfStatement':
      return readCondition(node, context)
    case 'AssignmentExpression':
      return readAssignment(node, context)
    case 'UpdateExpression':
      return noteWrite(node.argument, context, { how: 'count', value: 'fixed', isFirst: false })
    case 'CallExpression':
      return readCall(node, context)
    case 'NewExpression':
      context.facts.made.push({ name: nameOf(node.callee) ?? memberOf(node.callee) ?? '', by: context.by })
      return readAll(childrenOf(node), context)
    case 'MemberExpression':
      placeAt(node, context)?.readers.add(context.by)
      return readAll(node.computed ? [node.object, node.property] : [node.object], context)
    case 'Identifier':
      placeIn(context.scope, node.name)?.readers.add(context.by)
      return
    case 'ImportDeclaration':
      return noteImports(node, context)
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration':
      noteExports(node, context)
      return node.declaration ? read(node.declaration, context) : undefined
    default:
      return readAll(childrenOf(node), context)
  }
}

function readAll(nodes: readonly AnyNode[], context: ReadingContext): void {
  for (const node of nodes) read(node, context)
}

function readBlock(statements: readonly AnyNode[], context: ReadingContext): void {
  const scope: LexicalScope = { parent: context.scope, home: context.by, places: new Map() }
  declare(context.facts, scope, declaredIn(statements, false))
  readAll(statements, { ...context, scope })
}

/** A method has a name, and `this` is its object; another function has a `this` of its own, unless it is an arrow. */
function readFunction(node: FunctionNode, context: ReadingContext, names: FunctionNames): FunctionFacts {
  const isArrow = node.type === 'ArrowFunctionExpression'
  const by = functionFacts(context.by, context.owner, [node.id?.name, ...names])
  context.facts.functions.push(by)
  const scope: LexicalScope = { parent: context.scope, home: by, places: new Map() }
  const statements = node.body.type === 'BlockStatement' ? node.body.body : []
  const parameters = node.params
    .flatMap(namesIn)
    .map((name) => ({ name, start: 'unknown', isFixed: true, at: node.start }) as const)
  declare(context.facts, scope, [...parameters, ...declaredIn(statements, true)])
  const owner = isArrow || names.length > 0 ? context.owner : undefined
  const absent = new Set([...(isArrow ? context.absent : []), ...returnsEarlyOn(statements)])
  const body = node.body.type === 'BlockStatement' ? statements : [node.body]
  readAll([...node.params, ...body], { ...context, scope, by, owner, absent, isTable: false })
  return by
}

function readClass(
  node: Extract<AnyNode, { type: 'ClassDeclaration' | 'ClassExpression' }>,
  context: ReadingContext,
): void {
  const base = node.superClass ? nameOf(node.superClass) : undefined
  const owner: ClassFacts = { name: node.id?.name, base, fields: new Map() }
  context.facts.classes.push(owner)
  if (node.superClass) read(node.superClass, context)
  const inside: ReadingContext = { ...context, owner, isTable: false }
  for (const member of node.body.body) {
    if (member.type === 'MethodDefinition') readFunction(member.value, inside, [nameOf(member.key)])
    else if (member.type === 'PropertyDefinition') readField(member, owner, inside)
    else read(member, inside)
  }
}

function readField(
  { key, value, start }: Extract<AnyNode, { type: 'PropertyDefinition' }>,
  owner: ClassFacts,
  context: ReadingContext,
): void {
  const name = nameOf(key)
  if (value && isFunction(value)) return void readFunction(value, context, [name])
  if (name === undefined) return
  fieldOf(owner, name, context, start).start = startOf(value)
  if (value) read(value, context)
}

function readVariable({ id, init }: Extract<AnyNode, { type: 'VariableDeclarator' }>, context: ReadingContext): void {
  if (!init) return
  if (isFunction(init)) return void readFunction(init, context, [nameOf(id)])
  noteOrigin(id, init, context)
  read(init, context)
  if (id.type !== 'Identifier') readAll(childrenOf(id), context)
}

function readProperty(node: Extract<AnyNode, { type: 'Property' }>, context: ReadingContext): void {
  if (node.computed) read(node.key, context)
  const { value } = node
  if (isFunction(value)) {
    const by = readFunction(value, context, [nameOf(node.key)])
    // A function in an object outside of all functions is called by a name that the call brings.
    if (context.isTable) by.isHandler = true
    return
  }
  if (value.type === 'Identifier' && context.isTable) context.by.calls.add(`*${value.name}`)
  read(value, context)
}

function readCondition(node: Extract<AnyNode, { type: 'IfStatement' }>, context: ReadingContext): void {
  read(node.test, context)
  const inside = under(node.test, context)
  read(node.consequent, isNamedTool(node.test) ? asCase(inside) : inside)
  if (node.alternate) read(node.alternate, context)
}

function readAssignment(node: Extract<AnyNode, { type: 'AssignmentExpression' }>, context: ReadingContext): void {
  const { left, right, operator } = node
  const isFirst = operator === '??=' || operator === '||='
  const how = operator === '=' || isFirst || operator === '&&=' ? 'assign' : 'count'
  noteExported(left, right, context)
  if (left.type === 'ObjectPattern' || left.type === 'ArrayPattern') {
    const places = namesIn(left).flatMap((name) => placeIn(context.scope, name) ?? [])
    for (const place of places) place.writes.push({ by: context.by, how, value: 'call', isFirst: false })
  } else {
    const isAbsent = context.absent.has(keyOf(left) ?? '')
    noteWrite(left, context, { how, value: valueOf(right, context), isFirst: isFirst || isAbsent })
    if (left.type === 'MemberExpression') read(left.object, context)
  }
  if (isFunction(right)) return void readFunction(right, context, [nameOf(left) ?? memberOf(left)])
  const field = context.by.names.has('constructor') ? placeAt(left, context) : undefined
  if (field?.owner !== undefined && field.start === 'nothing') field.start = startOf(right)
  read(right, context)
}

function readCall(node: Extract<AnyNode, { type: 'CallExpression' }>, context: ReadingContext): void {
  const { callee } = node
  const name = nameOf(callee) ?? memberOf(callee)
  if (callee.type === 'MemberExpression') readMethodCall(node, callee, context)
  else {
    if (name !== undefined) context.by.calls.add(name)
    read(callee, context)
  }
  const { functions } = context.facts
  const isRegistered = REGISTERING.has(name ?? '')
  const isRoute = nameOf(node.arguments[0])?.startsWith('/') === true // what is registered under a path serves HTTP
  // Arguments of a bundler's own functions are no table of handlers.
  const inside = name?.startsWith('__') ? { ...context, isTable: false } : context
  for (const argument of node.arguments) {
    const passed = nameOf(argument) ?? memberOf(argument)
    if (argument.type !== 'Literal' && passed !== undefined)
      context.by.calls.add(isRegistered ? `*${passed}` : isRoute ? `/${passed}` : passed)
    const before = functions.length
    read(argument, inside)
    for (const one of functions.slice(before).filter(({ parent }) => parent === context.by)) {
      one.isHandler ||= isRegistered
      one.isListener ||= LISTENING.has(name ?? '')
      one.isRoute ||= isRoute
    }
  }
}

function readMethodCall(
  node: Extract<AnyNode, { type: 'CallExpression' }>,
  callee: Extract<AnyNode, { type: 'MemberExpression' }>,
  context: ReadingContext,
): void {
  const { object } = callee
  const name = memberOf(callee) ?? ''
  const how = PUTTING.has(name) ? 'put' : TAKING.has(name) ? 'take' : undefined
  const place = placeAt(object, context)
  if (how !== undefined) {
    const value = node.arguments.some((one) => valueOf(one, context) === 'call') ? 'call' : 'outer'
    noteWrite(object, context, { how, value, isFirst: context.absent.has(keyOf(object) ?? '') })
  }
  if (name !== '' && !BUILT_IN.has(nameOf(object) ?? '') && !isCollection(place)) context.by.calls.add(name)
  if (/^(bind|call|apply)$/.test(name)) context.by.calls.add(memberOf(object) ?? nameOf(object) ?? '')
  if (how === undefined || place === undefined) read(object, context)
  if (callee.computed) read(callee.property, context)
}
