/** Patterns of names: `*` matches any characters, everything else itself. Denied names match in any case. */
import { inSlices, type Json, remembered } from '../../protocol/index.ts'

/** Names that are allowed and not denied. */
export interface ToolFilter {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}

export function passes(name: string, { allow, deny }: ToolFilter): boolean {
  return matchesAny(allow, name) && (deny.length === 0 || !matchesAny(foldedPatterns(deny), folded(name)))
}

export interface FilteredTools {
  /** The tools whose names pass. */
  readonly passing: readonly Json[]
  /** The patterns that match no tool; none if there are no tools. */
  readonly unmatched: ToolFilter
}

/** Filters tools by name. A server decides how many names must be folded, so the work is done in slices. */
export async function filterTools(tools: readonly Json[], filter: ToolFilter): Promise<FilteredTools> {
  const passing: Json[] = []
  const [allow, deny] = [new Set(filter.allow), new Set(filter.deny)]
  const denied = foldedPatterns(filter.deny)
  await inSlices(tools, (tool) => {
    const name = String(tool['name'])
    const seen = denied.length === 0 ? '' : folded(name)
    const allowing = filter.allow.filter((pattern) => matches(pattern, name))
    const denying = filter.deny.filter((_, at) => matches(denied[at] ?? '', seen))
    if (allowing.length > 0 && denying.length === 0) passing.push(tool)
    for (const pattern of allowing) allow.delete(pattern)
    for (const pattern of denying) deny.delete(pattern)
  })
  return { passing, unmatched: tools.length === 0 ? ALL_MATCHED : { allow: [...allow], deny: [...deny] } }
}

const ALL_MATCHED: ToolFilter = { allow: [], deny: [] }

const PLAIN = /^[\x20-\x7e]*$/
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]+/gu
/**
 * Combining marks after the 30th, the limit of Unicode's stream-safe text: normalization takes time quadratic in their
 * number.
 */
const MORE_MARKS = /(?<=[\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/**
 * A name as a server reads it that ignores case, width, spaces or invisible characters, so that each spelling of a
 * denied name is denied.
 */
function folded(name: string): string {
  const seen = PLAIN.test(name) ? name : name.replace(UNSEEN, '').replace(MORE_MARKS, '').normalize('NFKC')
  return seen.trim().toLowerCase()
}

/** Remembered by the list in the configuration, which stays the same object. */
const foldedPatterns = remembered((deny: readonly string[]): readonly string[] => deny.map(folded))

function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(pattern, name))
}

/** Searches the pieces between the stars in order, without backtracking, so no pattern is slow. */
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

/** The reason why a text is no pattern, if any. */
export function patternFault(pattern: string): string | undefined {
  return pattern === '' ? 'must not be empty; * stands for any characters.' : undefined
}
