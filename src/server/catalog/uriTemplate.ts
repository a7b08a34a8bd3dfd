/**
 * The part of RFC 6570 that resource templates use: `{name}` within a path segment, and at most one `{+name}` across
 * segments. Matching scans the address once without backtracking, because clients choose the address and a slow match
 * would be a way to block the server.
 */
import { MAX_URI_CHARS } from '../../protocol/index.ts'

export interface UriTemplate {
  readonly source: string
  readonly variables: readonly string[]
  /** The variables of a matching address, decoded; undefined when it does not match. */
  match(uri: string): Record<string, string> | undefined
}

interface Variable {
  readonly name: string
  readonly crosses: boolean
}

const EXPRESSION = /\{(\+?)([A-Za-z0-9_]+)\}/g

export function parseUriTemplate(source: string): UriTemplate {
  const variables: Variable[] = []
  const literals: string[] = []
  let end = 0
  for (const { 0: whole, 1: plus, 2: name = '', index } of source.matchAll(EXPRESSION)) {
    literals.push(source.slice(end, index))
    variables.push({ name, crosses: plus === '+' })
    end = index + whole.length
  }
  literals.push(source.slice(end))
  assertMatchable(source, variables, literals)
  const names = variables.map(({ name }) => name)
  return { source, variables: names, match: (uri) => decoded(variables, split(uri, variables, literals)) }
}

function assertMatchable(source: string, variables: readonly Variable[], literals: readonly string[]): void {
  const names = new Set(variables.map(({ name }) => name))
  const wrong = (why: string): TypeError => new TypeError(`The template "${source}" ${why}.`)
  if (names.size < variables.length) throw wrong('names a variable twice')
  if (literals.some((literal) => /[{}]/.test(literal))) throw wrong('has an expression other than {name} and {+name}')
  if (variables.filter(({ crosses }) => crosses).length > 1) throw wrong('has more than one {+name}')
  if (literals.slice(1, -1).includes('')) throw wrong('has two variables with nothing between them')
}

/**
 * The text of each variable, in order. Literals before `{+name}` are matched at their first occurrence, those after it
 * at their last.
 */
function split(uri: string, variables: readonly Variable[], literals: readonly string[]): string[] | undefined {
  const first = literals[0] ?? ''
  const last = literals.at(-1) ?? ''
  if (uri.length > MAX_URI_CHARS || !uri.startsWith(first) || !uri.endsWith(last)) return undefined
  if (variables.length === 0) return uri === first ? [] : undefined
  let start = first.length
  let end = uri.length - last.length
  const values = Array.from(variables, () => '')
  const crossing = variables.findIndex(({ crosses }) => crosses)
  const middle = crossing < 0 ? variables.length - 1 : crossing
  for (let index = 0; index < middle; index++) {
    const literal = literals[index + 1] ?? ''
    const at = uri.indexOf(literal, start)
    if (at < 0) return undefined
    values[index] = uri.slice(start, at)
    start = at + literal.length
  }
  for (let index = variables.length - 1; index > middle; index--) {
    const literal = literals[index] ?? ''
    const at = uri.lastIndexOf(literal, end - literal.length)
    if (at < start) return undefined
    values[index] = uri.slice(at + literal.length, end)
    end = at
  }
  if (start > end) return undefined
  values[middle] = uri.slice(start, end)
  return values
}

function decoded(variables: readonly Variable[], values: string[] | undefined): Record<string, string> | undefined {
  if (values === undefined) return undefined
  const found = Object.create(null) as Record<string, string>
  for (const [index, { name, crosses }] of variables.entries()) {
    const value = decode(values[index] ?? '', crosses)
    if (value === undefined) return undefined
    found[name] = value
  }
  return found
}

/** A variable is never empty. `{name}` stays within its path segment also when decoded, so `..%2F` does not match. */
function decode(text: string, crosses: boolean): string | undefined {
  if (text === '' || (!crosses && /[/?#]/.test(text))) return undefined
  let value: string
  try {
    value = decodeURIComponent(text)
  } catch {
    return undefined // invalid percent-encoding
  }
  return !crosses && (/[/\\]/.test(value) || value === '.' || value === '..') ? undefined : value
}
