/** Questions about nodes that need no names. */
import type {
  ArrowFunctionExpression,
  CallExpression,
  Function,
  Node,
  ObjectExpression,
  ObjectProperty,
} from 'oxc-parser'

export type FunctionNode = ArrowFunctionExpression | Function

export function isFunction(node: Node | null | undefined): node is FunctionNode {
  return (
    node?.type === 'ArrowFunctionExpression' ||
    node?.type === 'FunctionExpression' ||
    node?.type === 'FunctionDeclaration'
  )
}

/** The expression without `as const`, `satisfies T` and `!`. */
export function bare(node: Node): Node {
  switch (node.type) {
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
    case 'TSNonNullExpression':
    case 'ChainExpression':
      return bare(node.expression)
    default:
      return node
  }
}

/** The name of a key; undefined if it is computed. */
export function keyOf(property: ObjectProperty): string | undefined {
  const { key, computed } = property
  if (key.type === 'Identifier' && !computed) return key.name
  return key.type === 'Literal' && typeof key.value === 'string' ? key.value : undefined
}

/** The properties of an object by their names; undefined if one has no name, such as a spread. */
export function propertiesOf(object: ObjectExpression): Map<string, ObjectProperty> | undefined {
  const found = new Map<string, ObjectProperty>()
  for (const property of object.properties) {
    const name = property.type === 'Property' ? keyOf(property) : undefined
    if (property.type !== 'Property' || name === undefined) return undefined
    found.set(name, property)
  }
  return found
}

export function propertyOf(object: ObjectExpression, name: string): ObjectProperty | undefined {
  return object.properties.find((one): one is ObjectProperty => one.type === 'Property' && keyOf(one) === name)
}

/** The member that `a.b` names. */
export function memberOf(node: Node | undefined): string | undefined {
  if (node?.type !== 'MemberExpression') return undefined
  const { property, computed } = node
  if (!computed) return property.type === 'Identifier' ? property.name : undefined
  return property.type === 'Literal' && typeof property.value === 'string' ? property.value : undefined
}

export function stringOf(node: Node | null | undefined): string | undefined {
  return node?.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined
}

export function isString(node: Node): boolean {
  if (node.type === 'TemplateLiteral') return true
  if (node.type === 'BinaryExpression') return node.operator === '+' && (isString(node.left) || isString(node.right))
  return stringOf(node) !== undefined
}

/** The call that the node is the called function of. */
export function callOf(node: Node, parent: Node | undefined): CallExpression | undefined {
  return parent?.type === 'CallExpression' && parent.callee === node ? parent : undefined
}

/** The results of a function: of its own return statements only, with each branch of a condition separately. */
export function returnedBy(fn: FunctionNode, children: (node: Node) => Node[]): Node[] {
  return statedBy(fn, children).flatMap(branches)
}

function branches(value: Node): Node[] {
  const node = bare(value)
  return node.type === 'ConditionalExpression' ? [...branches(node.consequent), ...branches(node.alternate)] : [value]
}

function statedBy({ body }: FunctionNode, children: (node: Node) => Node[]): Node[] {
  if (body == null) return []
  if (body.type !== 'BlockStatement') return [body]
  const found: Node[] = []
  const visit = (node: Node): void => {
    if (node.type === 'ReturnStatement' && node.argument != null) found.push(node.argument)
    if (isFunction(node)) return
    for (const child of children(node)) visit(child)
  }
  visit(body)
  return found
}
