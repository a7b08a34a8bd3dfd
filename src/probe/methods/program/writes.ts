/** Where a file is being read: which names are known there, and how its writes, reads, imports and exports are noted. */
import { calledIn, guardedIn, keyOf, type AnyNode, childrenOf, memberOf, nameOf, namesIn } from './syntax.ts'
import {
  type ClassFacts,
  type DeclaredName,
  type FunctionFacts,
  functionFacts,
  type CodePlace,
  placeIn,
  type PlaceWrite,
  type LexicalScope,
  startOf,
  declaredIn,
} from './places.ts'

export interface FileFacts {
  readonly file: string
  readonly lineAt: (at: number) => number
  readonly functions: FunctionFacts[]
  readonly places: CodePlace[]
  readonly classes: ClassFacts[]
  /** Each `new`: the name of the class, and where. */
  readonly made: { readonly name: string; readonly by: FunctionFacts }[]
  /** The imports from other files: the local name, the file, and the name there. */
  readonly imports: { readonly place: CodePlace; readonly from: string; readonly name: string }[]
  readonly exports: Map<string, CodePlace>
}

export interface ReadingContext {
  readonly facts: FileFacts
  /** `process.env`. */
  readonly environment: CodePlace
  readonly scope: LexicalScope
  readonly by: FunctionFacts
  readonly owner: ClassFacts | undefined
  /** The keys that a condition around this place says to be absent. */
  readonly absent: ReadonlySet<string>
  /** Whether an object here is outside of all functions. */
  readonly isTable: boolean
}

export function newPlace(
  facts: FileFacts,
  name: string,
  { at, ...rest }: Pick<CodePlace, 'home' | 'owner' | 'isFixed' | 'start'> & { readonly at: number },
): CodePlace {
  const place: CodePlace = {
    name,
    file: facts.file,
    line: facts.lineAt(at),
    ...rest,
    writes: [],
    readers: new Set(),
    actors: new Set(),
  }
  facts.places.push(place)
  return place
}

export function declare(facts: FileFacts, scope: LexicalScope, declared: readonly DeclaredName[]): void {
  for (const { name, start, isFixed, at } of declared) {
    if (scope.places.has(name)) continue
    scope.places.set(name, newPlace(facts, name, { home: scope.home, owner: undefined, isFixed, start, at }))
  }
}

export function fieldOf(owner: ClassFacts, name: string, { facts, by }: ReadingContext, at: number): CodePlace {
  const found = owner.fields.get(name)
  if (found !== undefined) return found
  const place = newPlace(facts, name, { home: by, owner, isFixed: false, start: 'nothing', at })
  owner.fields.set(name, place)
  return place
}

/** The place that an expression is about: `x`, `this.x`, `process.env`. */
export function placeAt(node: AnyNode, context: ReadingContext): CodePlace | undefined {
  if (node.type === 'Identifier') return placeIn(context.scope, node.name)
  if (node.type === 'ChainExpression') return placeAt(node.expression, context)
  if (node.type !== 'MemberExpression') return undefined
  const member = memberOf(node)
  if (member === 'env' && nameOf(node.object) === 'process') return context.environment
  if (node.object.type !== 'ThisExpression' || context.owner === undefined || member === undefined) return undefined
  return fieldOf(context.owner, member, context, node.start)
}

/** Notes what a function returns, and what it does to a place. */
export function noteStatement(node: AnyNode, context: ReadingContext): void {
  if (node.type === 'ExpressionStatement') return noteAction(node.expression, context)
  const place = node.type === 'ReturnStatement' && node.argument ? placeAt(node.argument, context) : undefined
  if (place !== undefined) context.by.returned.add(place)
}

/** Records a statement such as `await page.goto(url)`: a method call whose result is not used. */
function noteAction(statement: AnyNode, context: ReadingContext): void {
  const call = statement.type === 'AwaitExpression' ? statement.argument : statement
  if (call.type !== 'CallExpression' || call.callee.type !== 'MemberExpression') return
  if (!call.arguments.some((one) => valueOf(one, context) === 'call')) return
  let holder: AnyNode | undefined = call.callee.object
  for (let depth = 0; holder !== undefined && depth < MAX_MEMBERS; depth++) {
    const place = placeAt(holder, context)
    if (place !== undefined) return void place.actors.add(context.by)
    holder = holderOf(holder)
  }
}

type NotedWrite = Omit<PlaceWrite, 'by'>

const MAX_MEMBERS = 4

/** Records a write to the place itself or to a member of it. */
export function noteWrite(target: AnyNode, context: ReadingContext, write: NotedWrite): void {
  const direct = placeAt(target, context)
  if (direct !== undefined) return void direct.writes.push({ by: context.by, ...write })
  const how = write.how === 'take' ? 'take' : 'member'
  let inner = holderOf(target)
  for (let depth = 0; inner !== undefined && depth < MAX_MEMBERS; depth++) {
    const place = placeAt(inner, context)
    if (place !== undefined) return void place.writes.push({ by: context.by, ...write, how })
    inner = holderOf(inner)
  }
}

/** The object of a member access: `x` in `x.y`, `x[key]` and `x.get(key)`. */
function holderOf(node: AnyNode): AnyNode | undefined {
  if (node.type === 'ChainExpression') return holderOf(node.expression)
  if (node.type === 'MemberExpression') return node.object
  const isGet = node.type === 'CallExpression' && memberOf(node.callee) === 'get'
  return isGet && node.callee.type === 'MemberExpression' ? node.callee.object : undefined
}

export function valueOf(value: AnyNode, context: ReadingContext): PlaceWrite['value'] {
  if (isEmpty(value)) return 'empty'
  if (value.type === 'Literal') return 'fixed'
  return isOfCall(value, context) ? 'call' : 'outer'
}

/** Whether an expression names something that is declared in this function or one around it. */
function isOfCall(node: AnyNode, context: ReadingContext): boolean {
  if (node.type === 'Identifier') {
    const place = placeIn(context.scope, node.name)
    return place !== undefined && place.home.parent !== undefined
  }
  if (node.type === 'MemberExpression' && !node.computed) return isOfCall(node.object, context)
  if (node.type === 'Property' && !node.computed) return isOfCall(node.value, context)
  return childrenOf(node).some((one) => isOfCall(one, context))
}

function isEmpty(node: AnyNode): boolean {
  switch (node.type) {
    case 'Literal':
      return node.value === null || node.value === false || node.value === 0 || node.value === ''
    case 'Identifier':
      return node.name === 'undefined'
    case 'UnaryExpression':
      return node.operator === 'void'
    case 'ArrayExpression':
      return node.elements.length === 0
    case 'ObjectExpression':
      return node.properties.length === 0
    case 'NewExpression':
      return startOf(node) === 'collection' && node.arguments.length === 0
    default:
      return false
  }
}

/** Inside of a condition: what it says to be absent. */
export function under(test: AnyNode, context: ReadingContext): ReadingContext {
  return { ...context, absent: new Set([...context.absent, ...guardedIn(test)]) }
}

/** The code for one name of several is like a function of its own: each call runs one of them. */
export function asCase(context: ReadingContext): ReadingContext {
  if (context.by.parent === undefined) return context
  const by = functionFacts(context.by, context.owner, [], true)
  context.facts.functions.push(by)
  return { ...context, by }
}

/** `if (name === 'get_page')` */
export function isNamedTool(test: AnyNode): boolean {
  if (test.type !== 'BinaryExpression' || !/^===?$/.test(test.operator)) return false
  const { left, right } = test
  const isText = right.type === 'Literal' && typeof right.value === 'string'
  return isText && /(^|\.)(name|tool\w*|action|operation|command)$/i.test(keyOf(left) ?? '')
}

export function noteImports(
  { specifiers, source }: Extract<AnyNode, { type: 'ImportDeclaration' }>,
  { facts, scope }: ReadingContext,
): void {
  for (const specifier of specifiers) {
    const place = placeIn(scope, specifier.local.name)
    if (place !== undefined) facts.imports.push({ place, from: String(source.value), name: importedName(specifier) })
  }
}

function importedName(specifier: Extract<AnyNode, { type: 'ImportDeclaration' }>['specifiers'][number]): string {
  if (specifier.type === 'ImportSpecifier') return nameOf(specifier.imported) ?? ''
  return specifier.type === 'ImportDefaultSpecifier' ? 'default' : '*'
}

/** `const page = getPage()`, `const { a } = require('./file')` */
export function noteOrigin(id: AnyNode, init: AnyNode, { facts, scope }: ReadingContext): void {
  const variable = id.type === 'Identifier' ? placeIn(scope, id.name) : undefined
  if (variable !== undefined) variable.from = calledIn(init)
  const from = requiredBy(init)
  if (from === undefined) return
  for (const local of namesIn(id)) {
    const place = placeIn(scope, local)
    if (place !== undefined) facts.imports.push({ place, from, name: id.type === 'Identifier' ? '*' : local })
  }
}

/** `require('./file')`, also where a compiler wrapped it. */
function requiredBy(node: AnyNode): string | undefined {
  if (node.type === 'AwaitExpression') return requiredBy(node.argument)
  if (node.type === 'ImportExpression') return nameOf(node.source)
  if (node.type !== 'CallExpression') return undefined
  const [first] = node.arguments
  if (nameOf(node.callee) === 'require') return nameOf(first)
  return first === undefined ? undefined : requiredBy(first)
}

export function noteExports(
  node: Extract<AnyNode, { type: 'ExportNamedDeclaration' | 'ExportDefaultDeclaration' }>,
  { facts, scope }: ReadingContext,
): void {
  const note = (name: string, place: CodePlace | undefined): void =>
    void (place !== undefined && facts.exports.set(name, place))
  if (node.type === 'ExportDefaultDeclaration') {
    if (node.declaration.type === 'Identifier') note('default', placeIn(scope, node.declaration.name))
    return
  }
  for (const { local, exported } of node.source ? [] : node.specifiers) {
    note(nameOf(exported) ?? '', placeIn(scope, nameOf(local) ?? ''))
  }
  const declared = node.declaration ? declaredIn([node.declaration], true) : []
  for (const { name } of declared) note(name, placeIn(scope, name))
}

/** `exports.name = …`, `module.exports.name = …` outside of all functions. */
export function noteExported(target: AnyNode, value: AnyNode, { facts, scope, by }: ReadingContext): void {
  const name = by.parent === undefined ? exportedBy(target) : undefined
  if (name === undefined) return
  const local = value.type === 'Identifier' ? placeIn(scope, value.name) : scope.places.get(name)
  const start = startOf(value)
  const made = { home: scope.home, owner: undefined, isFixed: false, start, at: value.start }
  facts.exports.set(name, local ?? scope.places.get(name) ?? newPlace(facts, name, made))
}

function exportedBy(node: AnyNode): string | undefined {
  if (node.type !== 'MemberExpression') return undefined
  const isExports = nameOf(node.object) === 'exports' || memberOf(node.object) === 'exports'
  return isExports ? memberOf(node) : undefined
}
