/** JavaScript as a tree. A file that cannot be parsed is undefined: what it keeps is not known. */
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

/** The name of the function in `f()`, `await f()` and `this.f()`. */
export function calledIn(node: AnyNode): string | undefined {
  const call = node.type === 'AwaitExpression' ? node.argument : node
  return call.type === 'CallExpression' ? (nameOf(call.callee) ?? memberOf(call.callee)) : undefined
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

/** `x` and `this.x`, as one text. */
export function keyOf(node: AnyNode): string | undefined {
  if (node.type === 'Identifier') return node.name
  if (node.type === 'ChainExpression') return keyOf(node.expression)
  const member = memberOf(node)
  if (node.type !== 'MemberExpression' || member === undefined) return undefined
  const object = node.object.type === 'ThisExpression' ? 'this' : keyOf(node.object)
  return object === undefined ? undefined : `${object}.${member}`
}

/** The keys that a condition says to be absent: what is assigned then is made once. `if (!x)`, `if (x === null)`, `if (!x || …)` */
export function guardedIn(test: AnyNode): readonly string[] {
  switch (test.type) {
    case 'UnaryExpression':
      return test.operator === '!' ? keysIn(test.argument) : []
    case 'LogicalExpression':
      return [...guardedIn(test.left), ...guardedIn(test.right)]
    case 'BinaryExpression':
      return /^===?$/.test(test.operator) && isNothing(test.right) ? keysIn(test.left) : []
    default:
      return []
  }
}

/** `if (x) return x` at the beginning of a function. */
export function returnsEarlyOn(statements: readonly AnyNode[]): readonly string[] {
  return statements.flatMap((statement) => {
    if (statement.type !== 'IfStatement') return []
    const then = statement.consequent.type === 'BlockStatement' ? statement.consequent.body[0] : statement.consequent
    return then?.type === 'ReturnStatement' ? positiveKeys(statement.test) : []
  })
}

function positiveKeys(test: AnyNode): readonly string[] {
  if (test.type === 'UnaryExpression' && test.operator === '!') return []
  if (test.type === 'LogicalExpression') return [...positiveKeys(test.left), ...positiveKeys(test.right)]
  return keysIn(test)
}

function keysIn(node: AnyNode): readonly string[] {
  const key = keyOf(node)
  return key === undefined ? childrenOf(node).flatMap(keysIn) : [key]
}

function isNothing(node: AnyNode): boolean {
  return (node.type === 'Literal' && node.value === null) || (node.type === 'Identifier' && node.name === 'undefined')
}
