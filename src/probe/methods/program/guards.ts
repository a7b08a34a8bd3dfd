/** Conditions that say that something is not there yet: what is then assigned is made once, and kept as it is. */
import { type AnyNode, childrenOf, memberOf } from './syntax.ts'

/** `x` and `this.x`, as one text. */
export function keyOf(node: AnyNode): string | undefined {
  if (node.type === 'Identifier') return node.name
  if (node.type === 'ChainExpression') return keyOf(node.expression)
  const member = memberOf(node)
  if (node.type !== 'MemberExpression' || member === undefined) return undefined
  const object = node.object.type === 'ThisExpression' ? 'this' : keyOf(node.object)
  return object === undefined ? undefined : `${object}.${member}`
}

/** `if (!x)`, `if (x === null)`, `if (!x || …)` */
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
