/** The declarations of a program: functions, classes, and the places that can hold state while the process runs. */
import { type AnyNode, childrenOf, nameOf, namesIn } from './syntax.ts'

/** A function, or the text of a file outside all functions. */
export interface FunctionFacts {
  /** The names by which it may be called. */
  readonly names: Set<string>
  readonly parent: FunctionFacts | undefined
  /** The class that it is a method of. */
  readonly owner: ClassFacts | undefined
  /** The names of what it calls, or passes on. */
  readonly calls: Set<string>
  /** The places whose values it returns. */
  readonly returned: Set<CodePlace>
  /** Whether calls of tools come here first. */
  isHandler: boolean
  /** Whether it is called when something happens: a connection, a message, the end of a process. */
  isListener: boolean
  /** Whether it serves a path of HTTP. */
  isRoute: boolean
  /** Whether it is no function, but what a function does for one name of several. */
  readonly isCase: boolean
}

const HANDLING = /^(handle|execute|run|call|invoke|callback|cb|fn|func|process)$|^handle[A-Z_]|Handler$|Tool$/

/** The names by which a function may be called, as far as known. */
export type FunctionNames = readonly (string | undefined)[]

export function functionFacts(
  parent: FunctionFacts | undefined,
  owner: ClassFacts | undefined,
  names: FunctionNames,
  isCase = false,
): FunctionFacts {
  const known = names.filter((name) => name !== undefined)
  const isHandler = known.some((name) => HANDLING.test(name))
  return {
    names: new Set(known),
    parent,
    owner,
    calls: new Set(),
    returned: new Set(),
    isHandler,
    isListener: false,
    isRoute: false,
    isCase,
  }
}

export interface ClassFacts {
  readonly name: string | undefined
  /** The name of the class that it extends. */
  readonly base: string | undefined
  readonly fields: Map<string, CodePlace>
}

/** The initial value of a place. */
export type InitialValue = 'nothing' | 'collection' | 'list' | 'object' | 'value' | 'made' | 'unknown'

export interface CodePlace {
  readonly name: string
  readonly file: string
  readonly line: number
  /** The function that it is declared in. */
  readonly home: FunctionFacts
  readonly owner: ClassFacts | undefined
  /** Functions, classes, parameters and what other packages export hold nothing of the program's own. */
  readonly isFixed: boolean
  start: InitialValue
  readonly writes: PlaceWrite[]
  /** The functions that read it. */
  readonly readers: Set<FunctionFacts>
  /** The functions that run a method of it with something of a call, and take no result. */
  readonly actors: Set<FunctionFacts>
  /** The name of the function that a variable has its value from. */
  from?: string | undefined
}

export interface PlaceWrite {
  readonly by: FunctionFacts
  /** How the place is written: a new value; a changed count; an item added; an item removed; a member changed. */
  readonly how: 'assign' | 'count' | 'put' | 'take' | 'member'
  /** Whether the write happens only if the place is still empty. */
  readonly isFirst: boolean
  /** Whether the value is empty, fixed, of the call, or made of what lies outside of the function. */
  readonly value: 'empty' | 'fixed' | 'call' | 'outer'
}

export interface LexicalScope {
  readonly parent: LexicalScope | undefined
  readonly home: FunctionFacts
  readonly places: Map<string, CodePlace>
}

export function placeIn(scope: LexicalScope, name: string): CodePlace | undefined {
  for (let at: LexicalScope | undefined = scope; at !== undefined; at = at.parent) {
    const found = at.places.get(name)
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether a place holds a collection of the language. */
export function isCollection(place: CodePlace | undefined): boolean {
  return place !== undefined && (place.start === 'collection' || place.start === 'list')
}

const COLLECTIONS: ReadonlySet<string> = new Set(['Map', 'Set', 'WeakMap', 'LRUCache', 'LRU', 'NodeCache'])

export function startOf(value: AnyNode | null | undefined): InitialValue {
  switch (value?.type) {
    case undefined:
      return 'nothing'
    case 'NewExpression':
      return COLLECTIONS.has(nameOf(value.callee) ?? '') ? 'collection' : 'made'
    case 'ArrayExpression':
      return 'list'
    case 'ObjectExpression':
      return 'object'
    case 'Identifier':
      return value.name === 'undefined' ? 'nothing' : 'unknown'
    case 'Literal':
      return value.value === null ? 'nothing' : 'value'
    case 'UnaryExpression':
      return value.operator === 'void' ? 'nothing' : 'value'
    case 'CallExpression':
    case 'AwaitExpression':
      return 'made'
    default:
      return 'unknown'
  }
}

/** The declarations of one block, and with `isFunction` the `var`s of all blocks below. */
export function declaredIn(statements: readonly AnyNode[], isFunction: boolean): readonly DeclaredName[] {
  return statements.flatMap((statement) => [
    ...ownDeclarations(statement),
    ...(isFunction ? hoistedFrom(statement) : []),
  ])
}

export interface DeclaredName {
  readonly name: string
  readonly start: InitialValue
  readonly isFixed: boolean
  readonly at: number
}

function ownDeclarations(statement: AnyNode): readonly DeclaredName[] {
  switch (statement.type) {
    case 'VariableDeclaration':
      return statement.kind === 'var' ? [] : variables(statement)
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return [{ name: statement.id?.name ?? 'default', start: 'made', isFixed: true, at: statement.start }]
    case 'ImportDeclaration':
      return statement.specifiers.map(({ local, start }) => ({
        name: local.name,
        start: 'unknown',
        isFixed: true,
        at: start,
      }))
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration':
      return statement.declaration ? ownDeclarations(statement.declaration) : []
    default:
      return []
  }
}

function hoistedFrom(node: AnyNode): readonly DeclaredName[] {
  if (/Function|Class/.test(node.type)) return []
  const own = node.type === 'VariableDeclaration' && node.kind === 'var' ? variables(node) : []
  return [...own, ...childrenOf(node).flatMap(hoistedFrom)]
}

function variables(declaration: Extract<AnyNode, { type: 'VariableDeclaration' }>): readonly DeclaredName[] {
  return declaration.declarations.flatMap(({ id, init, start }) => {
    const isFunction = init?.type === 'ArrowFunctionExpression' || init?.type === 'FunctionExpression'
    return namesIn(id).map((name) => ({
      name,
      start: id.type === 'Identifier' ? startOf(init) : 'unknown',
      isFixed: isFunction || init?.type === 'ClassExpression',
      at: start,
    }))
  })
}
