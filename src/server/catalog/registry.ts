/** The entries of a server, by name. Maps instead of objects, so that a name like `__proto__` is an ordinary one. */
import type { AccessRule } from './access.ts'
import { CarryRules } from './carry.ts'
import type { CompletionTarget } from './definitions.ts'
import type { CompletionEntry, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from './entries.ts'

export type Capability = ListName | 'completions'

/** All entries of a list that is replaced as a whole. */
export interface Entries {
  readonly tools: readonly ToolEntry[]
  readonly prompts: readonly PromptEntry[]
  readonly resources: readonly ResourceEntry[]
  readonly templates: readonly TemplateEntry[]
}

/** The lists that have change notifications. */
export type ListName = 'tools' | 'prompts' | 'resources'

export type FoundResource =
  | { readonly entry: ResourceEntry; readonly variables: undefined }
  | { readonly entry: TemplateEntry; readonly variables: Record<string, string> }

export class Registry {
  readonly tools = new Map<string, ToolEntry>()
  readonly prompts = new Map<string, PromptEntry>()
  readonly resources = new Map<string, ResourceEntry>()
  readonly templates = new Map<string, TemplateEntry>()
  readonly completions = new Map<string, CompletionEntry>()
  readonly #carrying: CarryRules
  readonly #declared: ReadonlySet<Capability>
  /** The rules of current and removed entries. */
  readonly #rules = new Map<string, AccessRule>()
  #guardsResources = false

  /** Called after each change, so that cached lists can be dropped. `entry` names an entry with a rule. */
  onChange: (list: ListName, entry?: string) => void = () => {}

  /** `declared`: capabilities that are declared before there are entries. */
  constructor(carrying = new CarryRules(undefined, false), declared: ReadonlySet<Capability> = new Set()) {
    this.#carrying = carrying
    this.#declared = declared
  }

  addTool(entry: ToolEntry): void {
    this.#carrying.admit(entry.carry, `the tool "${entry.name}"`)
    addOnce(this.tools, entry.name, entry, 'tool')
    this.#changed('tools', entry.name, entry.access)
  }

  addPrompt(entry: PromptEntry): void {
    this.#carrying.admit(entry.carry, `the prompt "${entry.name}"`)
    addOnce(this.prompts, entry.name, entry, 'prompt')
    this.#changed('prompts', entry.name, entry.access)
  }

  addResource(entry: ResourceEntry): void {
    this.#carrying.admit(entry.carry, `the resource "${entry.uri}"`)
    addOnce(this.resources, entry.uri, entry, 'resource')
    this.#guardsResources ||= entry.access !== undefined
    this.#changed('resources', entry.uri, entry.access)
  }

  addTemplate(entry: TemplateEntry): void {
    this.#carrying.admit(entry.carry, `the resource template "${entry.template.source}"`)
    addOnce(this.templates, entry.template.source, entry, 'resource template')
    this.#guardsResources ||= entry.access !== undefined
    this.#changed('resources', entry.template.source, entry.access)
  }

  addCompletion(target: CompletionTarget, entry: CompletionEntry): void {
    this.#assertCompletable(target)
    addOnce(this.completions, completionKey(target), entry, 'completion')
  }

  /** Replaces all entries. No entry has a rule. `changed` names the lists whose change is notified. */
  replace({ tools, prompts, resources, templates }: Entries, changed: Iterable<ListName>): void {
    refill(this.tools, tools, ({ name }) => name)
    refill(this.prompts, prompts, ({ name }) => name)
    refill(this.resources, resources, ({ uri }) => uri)
    refill(this.templates, templates, ({ template }) => template.source)
    for (const list of changed) this.onChange(list)
  }

  remove(list: ListName, name: string): boolean {
    const removed =
      list === 'resources' ? this.resources.delete(name) || this.templates.delete(name) : this[list].delete(name)
    if (removed) this.#changed(list, name, this.ruleOf(list, name))
    return removed
  }

  /** The rule on who may see an entry, also after its removal; undefined if everyone may. */
  ruleOf(list: ListName, name: string): AccessRule | undefined {
    return this.#rules.get(`${list} ${name}`)
  }

  #changed(list: ListName, name: string, rule: AccessRule | undefined): void {
    if (rule === undefined) this.#rules.delete(`${list} ${name}`)
    else this.#rules.set(`${list} ${name}`, rule)
    this.onChange(list, rule && name)
  }

  /** A completion for a missing argument would never be requested. */
  #assertCompletable(target: CompletionTarget): void {
    if ('prompt' in target) {
      const { prompt, argument } = target
      const entry = this.prompts.get(prompt)
      if (entry === undefined) throw new TypeError(`There is no prompt "${prompt}" to complete; add the prompt first.`)
      const names = argumentsOf(entry)
      if (names.includes(argument)) return
      throw new TypeError(`The prompt "${prompt}" has no argument "${argument}" to complete. ${hasOnly(names)}`)
    }
    const { template, variable } = target
    const entry = this.templates.get(template)
    if (entry === undefined)
      throw new TypeError(`There is no resource template "${template}" to complete; add the template first.`)
    const { variables } = entry.template
    if (variables.includes(variable)) return
    throw new TypeError(`The resource template "${template}" has no variable "${variable}". ${hasOnly(variables)}`)
  }

  /** The resource with this URI, else the first template that fits it. */
  findResource(uri: string): FoundResource | undefined {
    const exact = this.resources.get(uri)
    if (exact !== undefined) return { entry: exact, variables: undefined }
    for (const entry of this.templates.values()) {
      const variables = entry.template.match(uri)
      if (variables !== undefined) return { entry, variables }
    }
    return undefined
  }

  /** The names of the tools that run as tasks. */
  get taskTools(): string[] {
    return [...this.tools.values()].filter(({ task }) => task !== undefined).map(({ name }) => name)
  }

  /** Whether a resource or template has, or had, a rule. */
  get guardsResources(): boolean {
    return this.#guardsResources
  }

  /** The names of the entries that need scopes. */
  get scoped(): string[] {
    const all = [...this.tools, ...this.prompts, ...this.resources, ...this.templates]
    return all.filter(([, { access }]) => access !== undefined && access.scopes.length > 0).map(([name]) => name)
  }

  get hasTools(): boolean {
    return this.tools.size > 0 || this.#declared.has('tools')
  }

  get hasPrompts(): boolean {
    return this.prompts.size > 0 || this.#declared.has('prompts')
  }

  get hasResources(): boolean {
    return this.resources.size > 0 || this.templates.size > 0 || this.#declared.has('resources')
  }

  get hasCompletions(): boolean {
    return this.completions.size > 0 || this.#declared.has('completions')
  }
}

function argumentsOf({ listed }: PromptEntry): string[] {
  return ((listed['arguments'] as { name: string }[] | undefined) ?? []).map(({ name }) => name)
}

function hasOnly(names: readonly string[]): string {
  return names.length === 0 ? 'It has none.' : `It has: ${names.join(', ')}.`
}

export function completionKey(target: CompletionTarget): string {
  const parts =
    'prompt' in target ? ['prompt', target.prompt, target.argument] : ['template', target.template, target.variable]
  return JSON.stringify(parts)
}

function refill<T>(map: Map<string, T>, entries: readonly T[], nameOf: (entry: T) => string): void {
  map.clear()
  for (const entry of entries) map.set(nameOf(entry), entry)
}

function addOnce<T>(map: Map<string, T>, name: string, entry: T, kind: string): void {
  if (map.has(name))
    throw new TypeError(`There is already a ${kind} "${name}"; remove it first, or choose another name.`)
  map.set(name, entry)
}
