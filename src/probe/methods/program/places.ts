/** The declarations of a program: functions, and the places that can hold state while the process runs. */
import { type AnyNode, childrenOf, isFunction, nameOf, namesIn } from './syntax.ts'

/** A function, or the text of a file outside all functions. */
export interface FunctionFacts {
  /** The names by which it may be called. */
  readonly names: readonly string[]
  readonly parent: FunctionFacts | undefined
  /** The names of what it calls, or passes on. */
  readonly calls: Set<string>
  /** Whether calls of tools come here first. */
  isHandler: boolean
  /** Whether it is no function, but what a function does for one name of several. */
  readonly isCase: boolean
}

const HANDLING = /^(handle|execute|run|call|invoke|callback|cb|fn|func|process)$|^handle[A-Z_]|Handler$|Tool$/

export function functionFacts(
  parent: FunctionFacts | undefined,
  names: readonly (string | undefined)[],
  isCase = false,
): FunctionFacts {
  const known = names.filter((name) => name !== undefined)
  return { names: known, parent, calls: new Set(), isHandler: known.some((name) => HANDLING.test(name)), isCase }
}

export interface CodePlace {
  readonly name: string
  readonly file: string
  readonly line: number
  /** The function that it is declared in. */
  readonly home: FunctionFacts
  /** The class whose field it is. */
  readonly owner: ClassFacts | undefined
  /** Whether it holds a collection of the language, or one like them. */
  isCollection: boolean
  /** The functions that give it another value. */
  readonly setBy: Set<FunctionFacts>
  /** The functions that add or change an item or a member of it. */
  readonly filledBy: Set<FunctionFacts>
  readonly readBy: Set<FunctionFacts>
}

export interface ClassFacts {
  readonly name: string | undefined
  readonly fields: Map<string, CodePlace>
}

/** The names that a function declares. Those that hold nothing are undefined: functions, classes, parameters, imports. */
export interface LexicalScope {
  readonly parent: LexicalScope | undefined
  readonly places: Map<string, CodePlace | undefined>
}

export function placeIn(scope: LexicalScope, name: string): CodePlace | undefined {
  for (let at: LexicalScope | undefined = scope; at !== undefined; at = at.parent) {
    if (at.places.has(name)) return at.places.get(name)
  }
  return undefined
}

interface DeclaredName {
  readonly name: string
  readonly at: AnyNode
  readonly holds: boolean
  readonly value: AnyNode | undefined
}

/** The names declared in the text of a function, in all its blocks, but not in functions and classes below. */
export function declaredIn(node: AnyNode): readonly DeclaredName[] {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return [{ name: node.id?.name ?? 'default', at: node, holds: false, value: undefined }]
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
    case 'ClassExpression':
      return []
    case 'ImportDeclaration':
      return node.specifiers.map(({ local }) => ({ name: local.name, at: local, holds: false, value: undefined }))
    case 'VariableDeclarator': {
      const value = node.init ?? undefined
      const holds = value === undefined || !(isFunction(value) || value.type === 'ClassExpression')
      return namesIn(node.id).map((name) => ({ name, at: node, holds, value }))
    }
    default:
      return childrenOf(node).flatMap(declaredIn)
  }
}

const COLLECTIONS: ReadonlySet<string> = new Set(['Map', 'Set', 'WeakMap', 'LRUCache', 'LRU', 'NodeCache'])

export function isCollection(value: AnyNode | null | undefined): boolean {
  if (value?.type === 'NewExpression') return COLLECTIONS.has(nameOf(value.callee) ?? '')
  return value?.type === 'ArrayExpression'
}

/** Whether nothing is kept where this is assigned. */
export function isEmpty(node: AnyNode): boolean {
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
      return isCollection(node) && node.arguments.length === 0
    default:
      return false
  }
}
