/**
 * Views: a selection of tools, under their own names and descriptions. Names resolve by the configuration alone: a
 * configured name means its tool, even if another tool has that name.
 */
import type { Json } from '../../protocol/index.ts'
import type { CatalogNames } from './names.ts'
import { passes } from './patterns.ts'

export interface View {
  /** Patterns of the names at `/mcp` that it serves; `*` matches any characters. @default ['*'] */
  readonly tools: readonly string[]
  /** Patterns of the names that it does not serve. @default [] */
  readonly deny: readonly string[]
  /** Other names, by the name at `/mcp`. @default {} */
  readonly rename: Readonly<Record<string, string>>
  /** Other descriptions, by the name at `/mcp`. @default {} */
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

/** The name in a view for a name in `/mcp`; undefined if the view does not serve it. */
function nameInView(view: View, original: string): string | undefined {
  if (!passes(original, { allow: view.tools, deny: view.deny })) return undefined
  const given = own(view.rename, original)
  if (given !== undefined) return given
  return givenTo(view, original) === undefined ? original : undefined
}

/**
 * Names that a view renames or describes although no tool has them. `toolsOf` gives the tools of a server by their own
 * names. While they are unknown (undefined), no name of that server is reported.
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

/** The name in `/mcp` for a name in a view; undefined if the view does not serve it. */
export function nameBehindView(view: View, name: string): string | undefined {
  const original = givenTo(view, name) ?? name
  return nameInView(view, original) === name ? original : undefined
}

/** The tool that the view renames to this name, if the view serves it. */
function givenTo({ rename, tools: allow, deny }: View, name: string): string | undefined {
  const found = Object.entries(rename).find(([from, to]) => to === name && passes(from, { allow, deny }))
  return found?.[0]
}

function own(values: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}
