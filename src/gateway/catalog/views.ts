/**
 * Views: some of the tools, under names and descriptions of one's own. What a name stands for follows from the
 * configuration alone: a name that a tool was given means that tool, whatever else is called so.
 */
import type { Json } from '../../protocol/index.ts'
import type { CatalogNames } from './names.ts'
import { passes } from './patterns.ts'

/** What a view serves. */
export interface View {
  /** Patterns of the names in `/mcp` that are served, such as `crm_*`. @default all */
  readonly tools: readonly string[]
  /** Patterns of those that are not. @default none */
  readonly deny: readonly string[]
  /** Names of one's own, by the name in `/mcp`. @default none */
  readonly rename: Readonly<Record<string, string>>
  /** Descriptions of one's own, by the name in `/mcp`. @default none */
  readonly descriptions: Readonly<Record<string, string>>
}

/** The tools of a view, in the order of the list. */
export function applyView(view: View, tools: readonly Json[]): readonly Json[] {
  return tools.flatMap((tool) => {
    const original = String(tool['name'])
    const name = nameInView(view, original)
    if (name === undefined) return []
    const description = own(view.descriptions, original)
    return [{ ...tool, name, ...(description !== undefined && { description }) }]
  })
}

/** The name in a view of a name in `/mcp`; undefined for what the view does not serve. */
function nameInView(view: View, original: string): string | undefined {
  if (!passes(original, { allow: view.tools, deny: view.deny })) return undefined
  const given = own(view.rename, original)
  if (given !== undefined) return given
  return givenTo(view, original) === undefined ? original : undefined
}

/**
 * Names that a view changes something of, and that no tool has. `toolsOf`: the tools of a server by their own names; undefined
 * where they are not known, and nothing is said of them.
 */
export function unknownInView(
  { rename, descriptions }: View,
  names: CatalogNames,
  toolsOf: (server: string) => readonly string[] | undefined,
): readonly string[] {
  const changed = new Set([...Object.keys(rename), ...Object.keys(descriptions)])
  return [...changed].filter((name) => {
    const found = names.resolve(name)
    const tools = found && toolsOf(found.server)
    if (found === undefined || tools === undefined) return false
    return !tools.some((own) => (found.kind === 'name' ? own === found.name : found.matches(own)))
  })
}

/** The way back: the name in `/mcp` of a name in a view; undefined for what the view does not serve. */
export function nameBehindView(view: View, name: string): string | undefined {
  const original = givenTo(view, name) ?? name
  return nameInView(view, original) === name ? original : undefined
}

/** Which tool of the view was given this name. One that the view does not serve takes no name. */
function givenTo({ rename, tools: allow, deny }: View, name: string): string | undefined {
  const found = Object.entries(rename).find(([from, to]) => to === name && passes(from, { allow, deny }))
  return found?.[0]
}

function own(values: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}
