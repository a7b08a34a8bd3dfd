/** The rules of the gateway as a route asks them: over its calls, its lists and the requests that it passes unread. */
import type { Principal } from '../../../server/index.ts'
import type { CatalogNames } from '../../catalog/index.ts'
import type { RuleDecision, Rules } from '../../rules/index.ts'
import type { Backend } from '../../backends/backend.ts'
import type { BackendTarget, RouteContents, RouteEntry } from '../contents.ts'

export interface RouteRulesOptions {
  readonly rules: () => Rules
  /** The names of tools at `/mcp`. */
  readonly names: () => CatalogNames
  /** The name of the view; empty at other addresses. */
  readonly view: string
}

export class RouteRules {
  readonly #options: RouteRulesOptions

  constructor(options: RouteRulesOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#options.rules().isEmpty
  }

  /** Decides over a call of a tool. */
  ofCall(caller: Principal | undefined, target: BackendTarget, args: unknown): RuleDecision {
    return this.#decide(caller, target.backend, target, { given: args })
  }

  /** The name of a tool at `/mcp`. */
  nameOf({ backend, name }: BackendTarget): string {
    return this.#options.names().exposed(backend.name, name)
  }

  /** Decides over prompts and resources of a server, which have neither a tool nor its arguments. */
  ofServer(caller: Principal | undefined, backend: Pick<Backend, 'name'>): RuleDecision {
    return this.#decide(caller, backend)
  }

  /** The entries that are denied to a caller, whatever the arguments are. */
  hidden(caller: Principal | undefined, contents: RouteContents): ReadonlySet<RouteEntry> {
    const { tools, prompts, resources, templates } = contents
    const hidden = new Set<RouteEntry>()
    const isOpen = new Map<Backend, boolean>()
    for (const entry of [...prompts.values(), ...resources.values(), ...templates.values()]) {
      const { backend } = entry
      if (!isOpen.has(backend)) isOpen.set(backend, this.ofServer(caller, backend).outcome !== 'deny')
      if (isOpen.get(backend) === false) hidden.add(entry)
    }
    for (const entry of tools.values())
      if (this.#decide(caller, entry.backend, entry).outcome === 'deny') hidden.add(entry)
    return hidden
  }

  /** Whether no rule needs to read the requests of this caller to a server. */
  arePassed(caller: Principal | undefined, backend: Pick<Backend, 'name'>): boolean {
    switch (this.#options.rules().neededFor(backend.name)) {
      case 'nothing':
        return true
      case 'caller': {
        const { outcome, dryRun } = this.ofServer(caller, backend)
        return outcome === 'allow' && dryRun === undefined
      }
      case 'call':
        return false
    }
  }

  #decide(
    caller: Principal | undefined,
    { name: server }: Pick<Backend, 'name'>,
    target?: BackendTarget,
    args?: { readonly given: unknown },
  ): RuleDecision {
    const { rules, names, view } = this.#options
    const principal = caller ?? 'anonymous'
    const tool = target && {
      name: names().exposed(server, target.name),
      ownName: target.name,
      listed: target.listed,
    }
    return rules().decide({ principal, server, view, ...(tool && { tool }), ...(args && { args }) })
  }
}
