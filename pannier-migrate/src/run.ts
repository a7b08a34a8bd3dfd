/**
 * The state of one migration: the project, its servers, the names to import, the counts, and the parts left by hand.
 */
import type { Node } from 'oxc-parser'
import { namesIn } from './names.ts'
import { type Project, sdkName } from './project.ts'
import { Servers } from './servers.ts'
import type { Source } from './source.ts'

type Offered = 'createServer' | 'Server' | 'Context' | 'inputRequired' | 'InputRequired' | 'ToolOptions'
const TYPES: ReadonlySet<string> = new Set<Offered>(['Server', 'Context', 'InputRequired', 'ToolOptions'])

export interface Counts {
  tools: number
  prompts: number
  resources: number
  questions: number
}

export class Run {
  readonly project: Project
  readonly servers: Servers
  readonly counts: Counts = { tools: 0, prompts: 0, resources: 0, questions: 0 }
  /** Nodes that have their edits already. */
  readonly #done = new Set<Node>()
  readonly #imports = new Map<Source, Map<Offered, string>>()
  readonly #zod = new Set<Source>()
  readonly #protocolTypes = new Map<Source, Set<string>>()

  constructor(project: Project) {
    this.project = project
    this.servers = new Servers(project)
  }

  /** Leaves a place as it is, and says so. */
  leave(source: Source, { start }: { start: number }, what: string, why: string, how: string): void {
    this.project.findings.add({ path: source.path, line: source.lineAt(start) }, what, why, how)
  }

  /** True the first time that a node is given. */
  begin(node: Node): boolean {
    if (this.#done.has(node)) return false
    this.#done.add(node)
    return true
  }

  isDone(node: Node): boolean {
    return this.#done.has(node)
  }

  /** The name that something of `pannier/server` has in a file; another one where its own is taken. */
  nameOf(source: Source, name: Offered): string {
    const names = this.#imports.get(source) ?? new Map<Offered, string>()
    this.#imports.set(source, names)
    const known = names.get(name)
    if (known !== undefined) return known
    const local = isTaken(source, name) ? `Pannier${name[0]?.toUpperCase()}${name.slice(1)}` : name
    const chosen = local === name ? name : name === 'createServer' ? 'createPannierServer' : local
    names.set(name, chosen)
    return chosen
  }

  /** The import of `pannier/server` that a file needs. */
  importOf(source: Source): string | undefined {
    const names = this.#imports.get(source)
    if (names === undefined) return undefined
    const onlyTypes = [...names.keys()].every((name) => TYPES.has(name))
    const items = [...names]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, local]) => {
        const type = TYPES.has(name) && !onlyTypes ? 'type ' : ''
        return `${type}${name}${local === name ? '' : ` as ${local}`}`
      })
    return `import ${onlyTypes ? 'type ' : ''}{ ${items.join(', ')} } from 'pannier/server'`
  }

  /** The name of zod's namespace in a file. */
  zodIn(source: Source): string {
    for (const statement of source.program.body) {
      if (statement.type !== 'ImportDeclaration' || !/^zod(\/|$)/.test(statement.source.value)) continue
      const { importKind, specifiers } = statement
      if (importKind === 'type') continue
      for (const specifier of specifiers) {
        const isZ = specifier.type !== 'ImportSpecifier' || sourceName(specifier.imported) === 'z'
        if (isZ) return specifier.local.name
      }
    }
    this.#zod.add(source)
    return 'z'
  }

  /** A type of the protocol that a file needs. */
  needType(source: Source, name: string): string {
    this.#protocolTypes.set(source, new Set([...this.typesFor(source), name]))
    return name
  }

  typesFor(source: Source): ReadonlySet<string> {
    return this.#protocolTypes.get(source) ?? new Set()
  }

  needsZod(source: Source): boolean {
    return this.#zod.has(source)
  }
}

function sourceName(node: Node): string {
  return node.type === 'Identifier' ? node.name : ''
}

function isTaken(source: Source, name: string): boolean {
  if (!namesIn(source).has(name)) return false
  return source.nodes.some((node) => {
    if (node.type !== 'Identifier' || node.name !== name) return false
    const parent = source.parentOf(node)
    return parent?.type !== 'ImportSpecifier' && sdkName(source, node) === undefined
  })
}
