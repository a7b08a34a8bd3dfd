/**
 * How long an expression may take, estimated from its text alone: an upper bound of its steps for inputs of a size, and
 * from it the largest input within the budget. The size of an input is its number of values; long texts count more.
 */
import type { ASTNode } from '@marcbachmann/cel-js'

/** Steps that one evaluation may take: at worst about 100 ms, if each of them is an error. */
const BUDGET = 1_000_000
/** The steps of an error, which `&&`, `||`, `all` and `exists` ignore if they are decided without it. */
const ERROR_STEPS = 200
const MAX_INPUT = 1_000_000

/** A text of this many characters counts as one value more. */
const TEXT_UNIT = 32
/** The steps of a function that reads a time zone. */
const CALENDAR_STEPS = 1000

interface Estimate {
  readonly steps: number
  /** The size of the value. */
  readonly size: number
}

type Sizes = ReadonlyMap<string, number>

/** The size of the largest input for which the expression stays within the budget. */
export function largestInput(ast: ASTNode): number {
  const fits = (input: number): boolean => estimate(ast, new Map(), input).steps <= BUDGET
  let [fitting, over] = [0, MAX_INPUT + 1]
  while (over - fitting > 1) {
    const middle = Math.floor((fitting + over) / 2)
    if (fits(middle)) fitting = middle
    else over = middle
  }
  return fitting
}

function estimate(ast: ASTNode, sizes: Sizes, input: number): Estimate {
  const of = (child: ASTNode): Estimate => estimate(child, sizes, input)
  switch (ast.op) {
    case 'value':
      return { steps: 1, size: sizeOfText(ast.args) }
    case 'id':
      return { steps: 1, size: sizes.get(ast.args) ?? input }
    case 'rcall':
      return MACROS.get(ast.args[0])?.(ast, sizes, input) ?? call(ast.args[0], childrenOf(ast).map(of))
    case 'call':
      return call(ast.args[0], ast.args[1].map(of))
    case '.':
    case '.?': {
      const { steps, size } = of(ast.args[0])
      return { steps: steps + 1, size }
    }
    case '&&':
    case '||':
      return { steps: sum(childrenOf(ast).map(of)).steps + ERROR_STEPS, size: 1 }
    case '!_':
    case '-_':
      return { steps: sum(childrenOf(ast).map(of)).steps + 1, size: 1 }
    case '+':
    case 'list':
    case 'map':
    case '?:':
      return joined(childrenOf(ast).map(of))
    default:
      // Comparisons, `in`, arithmetic and access by a key.
      return compared(childrenOf(ast).map(of))
  }
}

type Macro = (ast: ASTNode & { readonly op: 'rcall' }, sizes: Sizes, input: number) => Estimate

/**
 * The items together are as large as their list, so the most expensive list has one item of its whole size, or as many
 * items as it has values.
 */
const comprehension: Macro = (ast, sizes, input) => {
  const [, list, [name, ...bodies]] = ast.args
  const from = estimate(list, sizes, input)
  const variable = name?.op === 'id' ? name.args : ''
  const withItem = (size: number): Estimate =>
    sum(bodies.map((body) => estimate(body, new Map([...sizes, [variable, size]]), input)))
  const [small, large] = [withItem(1), withItem(from.size)]
  return {
    steps: from.steps + from.size * (small.steps + ERROR_STEPS) + large.steps,
    size: from.size * (small.size + 1) + large.size,
  }
}

const quantifier: Macro = (...expression) => ({ ...comprehension(...expression), size: 1 })

const binding: Macro = (ast, sizes, input) => {
  const [name, value, body] = ast.args[2]
  if (name?.op !== 'id' || value === undefined || body === undefined) return { steps: 0, size: 0 }
  const bound = estimate(value, sizes, input)
  const { steps, size } = estimate(body, new Map([...sizes, [name.args, bound.size]]), input)
  return { steps: steps + bound.steps, size }
}

const MACROS: ReadonlyMap<string, Macro> = new Map([
  ['all', quantifier],
  ['exists', quantifier],
  ['exists_one', quantifier],
  ['filter', comprehension],
  ['map', comprehension],
  ['bind', binding],
])

function call(name: string, parts: readonly Estimate[]): Estimate {
  const { steps, size } = sum(parts)
  // A text in a text: at worst each character is compared with each.
  const searched = parts.reduce((product, part) => product * Math.max(part.size, 1), 1)
  if (name.startsWith('get')) return { steps: steps + CALENDAR_STEPS, size: 1 }
  if (name === 'split' || name === 'json') return { steps: steps + searched, size: size * TEXT_UNIT }
  if (name === 'join') return { steps: steps + searched, size: searched }
  return { steps: steps + searched + 1, size }
}

function joined(parts: readonly Estimate[]): Estimate {
  const { steps, size } = sum(parts)
  return { steps: steps + size + 1, size: size + 1 }
}

function compared(parts: readonly Estimate[]): Estimate {
  const { steps, size } = sum(parts)
  return { steps: steps + size + 1, size }
}

function sum(parts: readonly Estimate[]): Estimate {
  return parts.reduce((all, { steps, size }) => ({ steps: all.steps + steps, size: all.size + size }), {
    steps: 0,
    size: 0,
  })
}

/** The operands of a node. */
export function childrenOf(ast: ASTNode): readonly ASTNode[] {
  switch (ast.op) {
    case 'value':
    case 'id':
      return []
    case '.':
    case '.?':
      return [ast.args[0]]
    case 'call':
      return ast.args[1]
    case 'rcall':
      return [ast.args[1], ...ast.args[2]]
    case 'map':
      return ast.args.flat()
    case '!_':
    case '-_':
      return [ast.args]
    default:
      return ast.args
  }
}

/** The size of a value, at most a little over `limit`. A key that JavaScript gives a meaning makes it `isOdd`. */
export function sizeOf(value: unknown, limit: number): { readonly size: number; readonly isOdd: boolean } {
  let [size, isOdd] = [0, false]
  const visit = (each: unknown): void => {
    size += sizeOfText(each)
    if (size > limit || typeof each !== 'object' || each === null) return
    if (Array.isArray(each)) for (const item of each) visit(item)
    else
      for (const key of Object.keys(each)) {
        if (key === 'constructor' || key === '__proto__') isOdd = true
        size += sizeOfText(key)
        visit((each as Record<string, unknown>)[key])
      }
  }
  visit(value)
  return { size, isOdd }
}

function sizeOfText(value: unknown): number {
  return typeof value === 'string' ? 1 + value.length / TEXT_UNIT : 1
}

/** The same value with a map for each object, so that its keys mean nothing but themselves. */
export function asMaps(members: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(members).map(([key, each]) => [key, mapped(each)]))
}

function mapped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mapped)
  return typeof value === 'object' && value !== null ? asMaps(value) : value
}
