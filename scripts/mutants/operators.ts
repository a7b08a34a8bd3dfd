import {
  type ArrowFunctionExpression,
  type Expression,
  type Function as FunctionNode,
  type Node,
  parseSync,
  Visitor,
  type VisitorObject,
} from 'oxc-parser'

/** One small change of a source file: the text from `start` to `end` becomes `after`. */
export interface Change {
  path: string
  /** Counted from 1. */
  line: number
  operator: Operator
  start: number
  end: number
  before: string
  after: string
}

export type Operator =
  | 'negated condition'
  | 'moved border'
  | 'other equality'
  | 'other junction'
  | 'always the default'
  | 'other constant'
  | 'removed statement'
  | 'dropped members'
  | 'dropped await'
  | 'early return'

const BORDERS: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const EQUALITIES: Readonly<Record<string, string>> = { '===': '!==', '!==': '===' }
const JUNCTIONS: Readonly<Record<string, string>> = { '&&': '||', '||': '&&' }

/** Every change that the operators make in a file, in the order of the text. */
export function changesOf(path: string, text: string): Change[] {
  const { program, errors } = parseSync(path, text)
  if (errors[0] !== undefined) throw new Error(`${path} cannot be parsed: ${errors[0].message}`)
  const changes: Change[] = []
  const source = ({ start, end }: Span): string => text.slice(start, end)
  const add = (operator: Operator, { start, end }: Span, after: string): void => {
    const line = text.slice(0, start).split('\n').length
    changes.push({ path, line, operator, start, end, before: text.slice(start, end), after })
  }
  new Visitor(operators(source, add)).visit(program)
  return changes.toSorted((a, b) => a.start - b.start || a.end - b.end)
}

type Add = (operator: Operator, span: Span, after: string) => void

function operators(source: (span: Span) => string, add: Add): VisitorObject {
  /** What another operator changes already, or what is a type. */
  const skipped = new Set<Node>()
  let message: Span = { start: 0, end: 0 }
  const negate = ({ test }: { test: Expression }): void => {
    skipped.add(test)
    add('negated condition', test, `!(${source(test)})`)
  }
  const returnEarly = (node: FunctionNode | ArrowFunctionExpression): void => {
    for (const value of earlyValues(node, source)) {
      add('early return', { start: node.body!.start, end: node.body!.start + 1 }, `{ return${value};`)
    }
  }
  const joined = ({ left, right }: { left: Node; right: Node }, operator: string): string =>
    `${source(left)} ${operator} ${source(right)}`
  return {
    IfStatement: negate,
    ConditionalExpression: negate,
    FunctionDeclaration: returnEarly,
    FunctionExpression: returnEarly,
    ArrowFunctionExpression: returnEarly,
    TSLiteralType: ({ literal }) => void skipped.add(literal),
    // The words of a message are nothing that a test should hold on to.
    ThrowStatement: ({ start, end }) => void (message = { start, end }),
    BinaryExpression(node) {
      const border = BORDERS[node.operator]
      const equality = EQUALITIES[node.operator]
      if (border !== undefined) add('moved border', node, joined(node, border))
      else if (equality !== undefined && !skipped.has(node)) add('other equality', node, joined(node, equality))
    },
    LogicalExpression(node) {
      const junction = JUNCTIONS[node.operator]
      if (junction === undefined) add('always the default', node, source(node.right))
      else add('other junction', node, joined(node, junction))
    },
    Literal(node) {
      if (skipped.has(node) || (node.start >= message.start && node.end <= message.end)) return
      if (typeof node.value === 'boolean') add('other constant', node, String(!node.value))
      if (typeof node.value === 'number') add('other constant', node, node.value === 0 ? '1' : '0')
    },
    ExpressionStatement(node) {
      const { expression } = node
      if (hasEffect(expression)) add('removed statement', node, '{}')
      if (expression.type === 'AwaitExpression') add('dropped await', expression, source(expression.argument))
    },
    ObjectExpression({ properties }) {
      // Only what is spread: the compiler minds most of the others.
      for (const [n, { type, start, end }] of properties.entries()) {
        if (type === 'SpreadElement') add('dropped members', { start, end: properties[n + 1]?.start ?? end }, '')
      }
    },
  }
}

/** What a function that declares its result may return at once, as text after `return`. */
function earlyValues(node: FunctionNode | ArrowFunctionExpression, source: (span: Span) => string): string[] {
  const { body, returnType } = node
  if (body?.type !== 'BlockStatement' || body.body.length === 0 || !returnType) return []
  const type = source(returnType.typeAnnotation)
  if (type === 'boolean') return [' true', ' false']
  return type === 'void' || type === 'Promise<void>' ? [''] : []
}

function hasEffect(expression: Expression): boolean {
  switch (expression.type) {
    case 'AwaitExpression':
      return hasEffect(expression.argument)
    case 'UnaryExpression':
      return expression.operator === 'void' || expression.operator === 'delete'
    case 'ChainExpression':
      return true
    case 'CallExpression':
      return expression.callee.type !== 'Super'
    case 'AssignmentExpression':
    case 'UpdateExpression':
      return true
    default:
      return false
  }
}

interface Span {
  start: number
  end: number
}
