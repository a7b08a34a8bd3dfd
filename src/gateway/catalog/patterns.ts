/** Patterns of names: `*` stands for any characters, everything else for itself. */

/** What is allowed and not denied. */
export interface ToolFilter {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}

export function passes(name: string, { allow, deny }: ToolFilter): boolean {
  return matchesAny(allow, name) && !matchesAny(deny, name)
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(pattern, name))
}

/** Looks for the pieces between the stars one after the other, so a pattern cannot make it slow. */
export function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return name === pattern
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  for (const piece of rest) {
    const found = name.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at <= name.length - last.length
}

/** Why a text is no pattern. */
export function patternFault(pattern: string): string | undefined {
  return pattern === '' ? 'must not be empty; * stands for any characters.' : undefined
}
