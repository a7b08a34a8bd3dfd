/** The part of RFC 6570 that resource templates use: `{name}` within a path segment, `{+name}` across segments. */
export interface UriTemplate {
  readonly source: string
  readonly variables: readonly string[]
  /** The variables of a matching address, decoded; undefined when it does not match. */
  match(uri: string): Record<string, string> | undefined
}

const EXPRESSION = /\{(\+?)([A-Za-z0-9_]+)\}/g

export function parseUriTemplate(source: string): UriTemplate {
  const variables: string[] = []
  let pattern = ''
  let end = 0
  for (const { 0: whole, 1: reserved, 2: name, index } of source.matchAll(EXPRESSION)) {
    if (name === undefined) continue
    if (variables.includes(name)) throw new TypeError(`The template "${source}" names {${name}} twice.`)
    pattern += literal(source.slice(end, index)) + (reserved === '+' ? '(.+)' : '([^/?#]+)')
    variables.push(name)
    end = index + whole.length
  }
  const rest = source.slice(end)
  if (/[{}]/.test(pattern.replace(/\\[{}]/g, '') + rest)) {
    throw new TypeError(`The template "${source}" has an expression other than {name} and {+name}.`)
  }
  const matcher = new RegExp(`^${pattern}${literal(rest)}$`)
  return { source, variables, match: (uri) => decoded(matcher.exec(uri), variables) }
}

function decoded(found: RegExpExecArray | null, variables: readonly string[]): Record<string, string> | undefined {
  if (found === null) return undefined
  const values = Object.create(null) as Record<string, string>
  try {
    for (const [index, name] of variables.entries()) values[name] = decodeURIComponent(found[index + 1] ?? '')
  } catch {
    return undefined // broken percent-encoding names no resource
  }
  return values
}

function literal(text: string): string {
  return text.replace(/[.*+?^$()|[\]\\/{}]/g, '\\$&')
}
