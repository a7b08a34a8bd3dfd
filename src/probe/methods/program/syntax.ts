/** JavaScript as a tree. Undefined for a file that cannot be parsed. */
import { type AnyNode, type Options, parse, type Program } from 'acorn'

export type { AnyNode }

export type FunctionNode = Extract<
  AnyNode,
  { type: 'FunctionDeclaration' | 'FunctionExpression' | 'ArrowFunctionExpression' }
>

export function isFunction(node: AnyNode): node is FunctionNode {
  return node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression'
}

const TOLERANT: Options = {
  ecmaVersion: 'latest',
  allowHashBang: true,
  allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true,
  allowImportExportEverywhere: true,
  allowSuperOutsideMethod: true,
  checkPrivateFields: false,
  locations: true,
}

/** Most files are modules. Files that strict mode forbids are scripts. */
export function parsed(text: string): Program | undefined {
  for (const sourceType of ['module', 'script'] as const) {
    try {
      return parse(text, { ...TOLERANT, sourceType })
    } catch {
      // Acorn throws at the first syntax error.
    }
  }
  return undefined
}

/** The nodes directly below a node, in the order of the text. */
export function childrenOf(node: AnyNode): readonly AnyNode[] {
  const children: AnyNode[] = []
  for (const value of Object.values(node)) {
    if (isNode(value)) children.push(value)
    else if (Array.isArray(value)) for (const one of value) if (isNode(one)) children.push(one)
  }
  return children
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

/** The name that a pattern or a key has; undefined if it is computed. */
export function nameOf(node: AnyNode | null | undefined): string | undefined {
  switch (node?.type) {
    case 'Identifier':
    case 'PrivateIdentifier':
      return node.name
    case 'Literal':
      return typeof node.value === 'string' ? node.value : undefined
    default:
      return undefined
  }
}

/** The member that an expression such as `a.b` or `a['b']` names. */
export function memberOf(node: AnyNode): string | undefined {
  if (node.type !== 'MemberExpression') return undefined
  if (!node.computed) return nameOf(node.property)
  return node.property.type === 'Literal' ? nameOf(node.property) : undefined
}

/** The names that a pattern declares: `{ a, b: [c] }`. */
export function namesIn(pattern: AnyNode): readonly string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name]
    case 'ObjectPattern':
      return pattern.properties.flatMap((one) => namesIn(one.type === 'RestElement' ? one.argument : one.value))
    case 'ArrayPattern':
      return pattern.elements.flatMap((one) => (one === null ? [] : namesIn(one)))
    case 'AssignmentPattern':
      return namesIn(pattern.left)
    case 'RestElement':
      return namesIn(pattern.argument)
    default:
      return []
  }
}
