/** The facts about a caller and a tool that expressions can use. */
import { isObject, type Json, remembered } from '../../protocol/index.ts'
import { namedBy, type Principal } from '../../server/internal.ts'
import { asMaps, sizeOf } from './cost.ts'
import { AnnotationFacts, type RuleValues, PrincipalFacts, ToolFacts } from './expression.ts'

/** A value with its size, up to which it was counted. */
export interface Sized<T> {
  readonly value: T
  readonly size: number
}

/** Larger inputs are too large for every rule. */
const MAX_COUNTED = 1_000_000

const ANONYMOUS: Sized<PrincipalFacts> = {
  value: new PrincipalFacts({ id: '', subject: '', claims: {}, scopes: [], roles: [], groups: [] }),
  size: 1,
}

export function principalFacts(principal: Principal | undefined): Sized<PrincipalFacts> {
  return principal === undefined ? ANONYMOUS : factsOf(principal)
}

const factsOf = remembered((principal: Principal): Sized<PrincipalFacts> => {
  const { id, subject = '', claims = {}, scopes = [] } = principal
  const { size, isOdd } = sizeOf(claims, MAX_COUNTED)
  const named = { roles: namedBy(principal, 'role'), groups: namedBy(principal, 'group') }
  // An expression reads own members of objects alone, and fails where one is named "constructor".
  const safe = isOdd ? asMaps(claims) : claims
  return {
    value: new PrincipalFacts({ id, subject, claims: safe, scopes, ...named }),
    size: size + scopes.length,
  }
})

/** A tool as a route knows it. */
export interface RuledTool {
  /** The name at `/mcp`. */
  readonly name: string
  /** The name at its server. */
  readonly ownName: string
  /** Its definition; undefined if it is unknown. */
  readonly listed?: Json | undefined
}

/** The facts of a tool. Hints that it does not give have the defaults of MCP, which assume the worst. */
export function toolFacts({ name, ownName, listed = {} }: RuledTool): Sized<ToolFacts> {
  const { title, description, annotations } = listed
  const hints = isObject(annotations) ? annotations : {}
  const hint = (key: string, byDefault: boolean): boolean => {
    const value = Object.hasOwn(hints, key) ? hints[key] : undefined
    return typeof value === 'boolean' ? value : byDefault
  }
  const readOnlyHint = hint('readOnlyHint', false)
  const texts = { name, ownName, title: textOf(title), description: textOf(description) }
  const value = new ToolFacts({
    ...texts,
    annotations: new AnnotationFacts({
      title: textOf(hints['title']),
      readOnlyHint,
      destructiveHint: hint('destructiveHint', !readOnlyHint),
      idempotentHint: hint('idempotentHint', false),
      openWorldHint: hint('openWorldHint', true),
    }),
  })
  return { value, size: sizeOf(texts, MAX_COUNTED).size }
}

/** Arguments as an expression reads them; undefined if they are no object. */
export function argumentFacts(args: unknown): Sized<RuleValues> | undefined {
  if (args === undefined) return { value: {}, size: 1 }
  if (!isObject(args)) return undefined
  const { size, isOdd } = sizeOf(args, MAX_COUNTED)
  return { value: isOdd ? asMaps(args) : args, size }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
