/** Views that change something of tools which no server has. */
import type { Backend } from './backends/backend.ts'
import { type CatalogNames, unknownInView, type View } from './catalog/index.ts'

export interface UnknownToolsParts {
  readonly views: Readonly<Record<string, View>>
  readonly names: CatalogNames
  readonly backends: readonly Backend[]
}

/** A sentence for each view that renames or describes what no server has, as far as its tools are known. */
export function unknownInViews({ views, names, backends }: UnknownToolsParts): readonly string[] {
  const toolsOf = (server: string): readonly string[] | undefined => knownTools(backends, server)
  return Object.entries(views).flatMap(([name, view]) => {
    const quoted = unknownInView(view, names, toolsOf).map((tool) => `"${tool}"`)
    if (quoted.length === 0) return []
    const sentence = `The view "${name}" renames or describes ${quoted.join(', ')}, and no server has such a tool now.`
    return [`${sentence} Look at the names in /mcp.`]
  })
}

/** The own names of a server's tools; undefined where they are not known, or are not the same for all callers. */
function knownTools(backends: readonly Backend[], server: string): readonly string[] | undefined {
  const backend = backends.find(({ name }) => name === server)
  if (backend === undefined || backend.condition.kind !== 'up' || backend.listsDiffer) return undefined
  return [...backend.lists.tools.map(({ name }) => String(name)), ...backend.withheld]
}
