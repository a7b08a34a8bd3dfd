/**
 * Expressions of rules: CEL over `principal`, `server`, `view`, `tool` and `args`. All names are checked when the file
 * is read. An expression without the value of a variable that it mentions still has a verdict if the rest decides it.
 */
import { type ASTNode, Environment, EvaluationError, ParseError, TypeError as CheckError } from '@marcbachmann/cel-js'
import { matches } from '../catalog/patterns.ts'
import { childrenOf, largestInput } from './cost.ts'

/** The members of an object. */
export type RuleValues = Readonly<Record<string, unknown>> | ReadonlyMap<string, unknown>

export class PrincipalFacts {
  /** Empty for an anonymous caller, as is `subject`. */
  declare readonly id: string
  declare readonly subject: string
  declare readonly claims: RuleValues
  declare readonly scopes: readonly string[]
  declare readonly roles: readonly string[]
  declare readonly groups: readonly string[]

  constructor(facts: PrincipalFacts) {
    Object.assign(this, facts)
  }
}

export class AnnotationFacts {
  declare readonly title: string
  declare readonly readOnlyHint: boolean
  declare readonly destructiveHint: boolean
  declare readonly idempotentHint: boolean
  declare readonly openWorldHint: boolean

  constructor(facts: AnnotationFacts) {
    Object.assign(this, facts)
  }
}

export class ToolFacts {
  /** The name at `/mcp`, whichever address the call came through. */
  declare readonly name: string
  /** The name at its server. */
  declare readonly ownName: string
  declare readonly title: string
  declare readonly description: string
  declare readonly annotations: AnnotationFacts

  constructor(facts: ToolFacts) {
    Object.assign(this, facts)
  }
}

/** The values of the variables. One that is absent is unknown. */
export interface RuleFacts {
  readonly principal?: PrincipalFacts
  readonly server: string
  /** The name of the view that the request came through; empty at other addresses. */
  readonly view?: string
  readonly tool?: ToolFacts
  readonly args?: RuleValues
}

export type RuleVariable = keyof RuleFacts

/** `unknown`: a variable that decides is unknown. */
export type RuleVerdict = boolean | 'unknown' | { readonly failure: string; readonly code: string }

export interface Expression {
  /** The largest input that it is evaluated for, in values. */
  readonly maxInput: number
  readonly mentions: ReadonlySet<string>
  readonly evaluate: (facts: RuleFacts) => RuleVerdict
}

const MAX_LENGTH = 2000
/** How deep comprehensions such as `list.all(…)` may nest. */
const MAX_NESTING = 3
/** Every rule must be able to judge inputs of this size. */
const LEAST_INPUT = 64

const LIMITS = { maxAstNodes: 1000, maxDepth: 50, maxListElements: 500, maxMapEntries: 100, maxCallArguments: 8 }

const texts = { title: 'string', description: 'string', name: 'string', ownName: 'string' }
const hints = { readOnlyHint: 'bool', destructiveHint: 'bool', idempotentHint: 'bool', openWorldHint: 'bool' }
const lists = { scopes: 'list<string>', roles: 'list<string>', groups: 'list<string>' }

/** Made with the first rule: it takes 25 ms. */
let language: Environment | undefined

function newLanguage(): Environment {
  return new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS })
    .registerType('Principal', {
      ctor: PrincipalFacts,
      fields: { id: 'string', subject: 'string', claims: 'map<string, dyn>', ...lists },
    })
    .registerType('Annotations', { ctor: AnnotationFacts, fields: { title: 'string', ...hints } })
    .registerType('Tool', { ctor: ToolFacts, fields: { ...texts, annotations: 'Annotations' } })
    .registerVariable('principal', 'Principal')
    .registerVariable('server', 'string')
    .registerVariable('view', 'string')
    .registerVariable('tool', 'Tool')
    .registerVariable('args', 'map<string, dyn>')
    .registerFunction('string.like(string): bool', (text: string, pattern: string) => matches(pattern, text), {
      async: false,
    })
}

/** Compiles an expression. `fault`: a sentence that follows the key. */
export function compile(text: string): Expression | { readonly fault: string } {
  if (text.length > MAX_LENGTH) return { fault: `must have at most ${MAX_LENGTH} characters.` }
  try {
    return compiled(text)
  } catch (error) {
    if (error instanceof ParseError || error instanceof CheckError || error instanceof EvaluationError)
      return { fault: faultOf(error) }
    throw error
  }
}

function compiled(text: string): Expression | { readonly fault: string } {
  language ??= newLanguage()
  const run = language.parse(text)
  const fault = forbidden(run.ast)
  if (fault !== undefined) return { fault }
  const checked = run.check()
  if (!checked.valid) return { fault: checked.error === undefined ? 'is no valid rule.' : faultOf(checked.error) }
  if (checked.type !== 'bool' && checked.type !== 'dyn')
    return { fault: `must be true or false, and is of the type ${checked.type}.` }
  const maxInput = largestInput(run.ast)
  if (maxInput < LEAST_INPUT) return { fault: TOO_COSTLY }
  const mentions = new Set(variablesIn(run.ast))
  return { maxInput, mentions, evaluate: (facts) => evaluated(run, mentions, facts) }
}

const TOO_COSTLY =
  'could take too long for large arguments: nest fewer of all(), exists(), filter() and map(), and join fewer texts and lists.'

type Evaluator = ReturnType<Environment['parse']>

function evaluated(run: Evaluator, mentions: ReadonlySet<string>, facts: RuleFacts): RuleVerdict {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0 // the interpreter makes an error for each missing member, and stacks take most of their time
  try {
    const value: unknown = run(facts)
    return typeof value === 'boolean' ? value : { failure: 'It is neither true nor false.', code: 'not_bool' }
  } catch (error) {
    for (const name of mentions) if (facts[name as RuleVariable] === undefined) return 'unknown'
    const isKnown = error instanceof EvaluationError || error instanceof CheckError
    const sentence = isKnown ? error.summary : 'It has no value.'
    return { failure: `${sentence.slice(0, MAX_SENTENCE).replace(/\.$/, '')}.`, code: isKnown ? error.code : 'failed' }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

const MAX_SENTENCE = 200

function faultOf({ summary, range }: ParseError | CheckError | EvaluationError): string {
  const place = range === undefined ? '' : ` (at character ${range.start + 1})`
  return `is no valid rule: ${summary.slice(0, MAX_SENTENCE).replace(/\.$/, '')}${place}.`
}

/** The parts of the language that have no limit of time. */
function forbidden(ast: ASTNode, nested = 0): string | undefined {
  if (ast.op === 'rcall' && ast.args[0] === 'matches') return NO_MATCHES
  const depth = ast.op === 'rcall' && COMPREHENSIONS.has(ast.args[0]) ? nested + 1 : nested
  if (depth > MAX_NESTING) return TOO_COSTLY
  for (const child of childrenOf(ast)) {
    const fault = forbidden(child, depth)
    if (fault !== undefined) return fault
  }
  return undefined
}

const NO_MATCHES =
  'uses matches(), whose regular expressions have no limit of time; write like("…"), where * stands for any characters.'

const COMPREHENSIONS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map'])

const VARIABLES: ReadonlySet<string> = new Set<RuleVariable>(['principal', 'server', 'view', 'tool', 'args'])

function variablesIn(ast: ASTNode): readonly string[] {
  const own = ast.op === 'id' && VARIABLES.has(ast.args) ? [ast.args] : []
  return [...own, ...childrenOf(ast).flatMap(variablesIn)]
}
