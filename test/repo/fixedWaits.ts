/** Finds waits for a fixed time. Such a time is too short on a busy machine, and too long on every other. */
import { type Expression, parseSync, type Program, Visitor } from 'oxc-parser'
import type { Texts } from '../../scripts/repository.ts'

/** A shorter time lets other work run, and proves nothing. */
const SHORT_MS = 100

export interface FixedWait {
  readonly path: string
  readonly line: number
  /** Infinity for a constant of another file. */
  readonly ms: number
}

export function fixedWaits(texts: Texts): FixedWait[] {
  return [...texts].flatMap(([path, text]) => waitsIn(path, text))
}

interface TimerCall {
  readonly ms: Expression
  readonly start: number
}

function waitsIn(path: string, text: string): FixedWait[] {
  const { program } = parseSync(path, text)
  const constants = constantsIn(program)
  return waitingCalls(program)
    .map(({ ms, start }) => ({ path, line: text.slice(0, start).split('\n').length, ms: valueOf(ms, constants) }))
    .filter(({ ms }) => ms >= SHORT_MS)
}

/**
 * The calls that wait: `sleep` of node:timers/promises under any name, `.sleep()`, and setTimeout() within `new Promise()`.
 * A sleep with a signal ends with an event.
 */
function waitingCalls(program: Program): TimerCall[] {
  const sleeps = sleepsIn(program)
  const promises: { start: number; end: number }[] = []
  const calls: TimerCall[] = []
  const timers: TimerCall[] = []
  new Visitor({
    NewExpression(node) {
      if (node.callee.type === 'Identifier' && node.callee.name === 'Promise') promises.push(node)
    },
    CallExpression({ callee, arguments: [first, second, third], start }) {
      const name = callee.type === 'Identifier' ? callee.name : undefined
      const isMethod = callee.type === 'MemberExpression' && !callee.computed && callee.property.name === 'sleep'
      const isSleep = isMethod || (name !== undefined && sleeps.has(name))
      if (isSleep && isExpression(first) && third === undefined) calls.push({ ms: first, start })
      if (!isSleep && name === 'setTimeout' && isExpression(second)) timers.push({ ms: second, start })
    },
  }).visit(program)
  const isAwaited = ({ start }: TimerCall) => promises.some((each) => each.start < start && start < each.end)
  return [...calls, ...timers.filter(isAwaited)]
}

function isExpression(node: Expression | { type: 'SpreadElement' } | undefined): node is Expression {
  return node !== undefined && node.type !== 'SpreadElement'
}

/** The names under which a file imports setTimeout() of node:timers/promises. */
function sleepsIn(program: Program): ReadonlySet<string> {
  const names = new Set<string>()
  new Visitor({
    ImportDeclaration({ source, specifiers }) {
      if (source.value !== 'node:timers/promises') return
      for (const each of specifiers) {
        const imported = each.type === 'ImportSpecifier' && each.imported.type === 'Identifier' && each.imported.name
        if (imported === 'setTimeout') names.add(each.local.name)
      }
    },
  }).visit(program)
  return names
}

type Constants = ReadonlyMap<string, Expression>

function constantsIn(program: Program): Constants {
  const constants = new Map<string, Expression>()
  new Visitor({
    VariableDeclaration({ kind, declarations }) {
      if (kind !== 'const') return
      for (const { id, init } of declarations) if (id.type === 'Identifier' && init) constants.set(id.name, init)
    },
  }).visit(program)
  return constants
}

/** The value of a constant expression; NaN for one that depends on anything else. */
function valueOf(node: Expression, constants: Constants): number {
  switch (node.type) {
    case 'Literal':
      return Number(node.value)
    case 'Identifier': {
      const constant = constants.get(node.name)
      if (constant !== undefined) return valueOf(constant, constants)
      return /^[A-Z][A-Z0-9_]+$/.test(node.name) ? Number.POSITIVE_INFINITY : Number.NaN
    }
    case 'BinaryExpression':
      if (node.left.type === 'PrivateIdentifier') return Number.NaN
      return calculate(node.operator, valueOf(node.left, constants), valueOf(node.right, constants))
    case 'CallExpression': // amount(SHORT, LONG)
      return Math.max(...node.arguments.map((each) => (isExpression(each) ? valueOf(each, constants) : Number.NaN)))
    default:
      return Number.NaN
  }
}

function calculate(operator: string, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case '/':
      return left / right
    default:
      return Number.NaN
  }
}
