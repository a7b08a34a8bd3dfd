/**
 * Rules: who may call what, with which arguments. One function decides over lists and calls: in a list the arguments
 * are unknown, and for a prompt or a resource the tool is unknown as well. The order is `deny`, `allow`, `approve`. A
 * rule that fails denies the call.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Principal } from '../../server/internal.ts'
import type { ApprovalTerms, ApprovalRule, CallRule, RuleSettings } from './settings.ts'
import { compile, type Expression, type RuleFacts, type RuleVerdict } from './expression.ts'
import { argumentFacts, principalFacts, type RuledTool, type Sized, toolFacts } from './facts.ts'

export interface RuleDecision {
  /** `depends`: the decision needs something unknown, such as the arguments. */
  readonly outcome: 'allow' | 'deny' | 'approve' | 'depends'
  /** The rule that decided, such as `gateway.deny[0]`; absent if no rule did. */
  readonly rule?: string
  /** A sentence for the caller. */
  readonly reason: string
  /** The requirements of an approval. */
  readonly approval?: ApprovalTerms
  /** Why the rule could not be decided: a code without values. */
  readonly failure?: string
  /** The decision with dry-run rules included; absent if it is the same. */
  readonly dryRun?: RuleDecision
}

/** The decision. A member that is absent is unknown. */
export interface RuledRequest {
  readonly principal?: Principal | 'anonymous'
  readonly server: string
  /** The name of a view; empty at other addresses. */
  readonly view?: string
  readonly tool?: RuledTool
  readonly args?: { readonly given: unknown }
}

/** A subject as expressions see it. */
interface Judged {
  readonly facts: RuleFacts
  /** The size of the largest variable. */
  readonly size: number
}

type RuleList = 'deny' | 'allow' | 'approve'

interface CompiledRule {
  readonly name: string
  readonly expression: Expression
  readonly reason: string | undefined
  readonly approval: ApprovalTerms | undefined
}

export class Rules {
  readonly #settings: RuleSettings
  readonly #counting: RuleSet
  /** With the rules in a dry run, if there are some. */
  readonly #withDry: RuleSet | undefined
  readonly #needed = new Map<string, 'nothing' | 'caller' | 'call'>()
  readonly #tools = new WeakMap<object, Sized<NonNullable<RuleFacts['tool']>>>()

  /** The settings were checked when they were read. */
  constructor(settings: RuleSettings) {
    this.#settings = settings
    const { allow = [] } = settings
    const counts = (rule: CallRule): boolean => settings.dryRun !== true && rule.dryRun !== true
    const all = new RuleSet(settings, () => true)
    const isNeeded = allow.length === 0 ? settings.dryRun !== true : allow.some(counts)
    const { allow: _, ...others } = settings
    this.#counting = new RuleSet(isNeeded ? settings : others, counts)
    this.#withDry = all.size === this.#counting.size ? undefined : all
  }

  /** The rules of other settings; these, if nothing has changed. */
  changedTo(settings: RuleSettings): Rules {
    return isDeepStrictEqual(listsOf(this.#settings), listsOf(settings)) ? this : new Rules(settings)
  }

  /** Whether there is nothing to decide. */
  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  get #all(): RuleSet {
    return this.#withDry ?? this.#counting
  }

  /** The part of a request that the decision needs: nothing, the caller, or the whole call. */
  neededFor(server: string): 'nothing' | 'caller' | 'call' {
    const known = this.#needed.get(server)
    if (known !== undefined) return known
    const judged: Judged = { facts: { server }, size: 1 }
    const isOpen = this.#all.decide(judged).outcome === 'allow'
    const needed = isOpen ? 'nothing' : this.#all.readsCalls ? 'call' : 'caller'
    this.#needed.set(server, needed)
    return needed
  }

  decide(subject: RuledRequest): RuleDecision {
    const judged = this.#judged(subject)
    if (judged === undefined) return NO_OBJECT
    const decision = this.#counting.decide(judged)
    const dryRun = this.#withDry?.decide(judged)
    if (dryRun === undefined || (dryRun.outcome === decision.outcome && dryRun.rule === decision.rule)) return decision
    return { ...decision, dryRun }
  }

  /** The verdict of each rule that counts, in the order of deciding. */
  verdicts(subject: RuledRequest): readonly { readonly name: string; readonly verdict: string }[] {
    const judged = this.#judged(subject)
    return judged === undefined ? [] : this.#counting.verdicts(judged)
  }

  #judged({ principal, server, view, tool, args }: RuledRequest): Judged | undefined {
    const caller = principal && principalFacts(principal === 'anonymous' ? undefined : principal)
    const named = tool && this.#toolFacts(tool)
    const given = args && argumentFacts(args.given)
    if (args !== undefined && given === undefined) return undefined
    const facts: RuleFacts = {
      server,
      ...(view !== undefined && { view }),
      ...(caller && { principal: caller.value }),
      ...(named && { tool: named.value }),
      ...(given && { args: given.value }),
    }
    return { facts, size: Math.max(caller?.size ?? 0, named?.size ?? 0, given?.size ?? 0) }
  }

  /** The definition is the same object until the lists are read again. */
  #toolFacts(tool: RuledTool): Sized<NonNullable<RuleFacts['tool']>> {
    const { listed } = tool
    if (listed === undefined) return toolFacts(tool)
    const known = this.#tools.get(listed) ?? toolFacts(tool)
    this.#tools.set(listed, known)
    return known
  }
}

/** The first rule of a list that matches or cannot be decided. */
interface FirstMatch {
  readonly rule?: CompiledRule
  readonly failure?: { readonly failure: string; readonly code: string }
  /** Whether the verdict of an earlier rule is unknown. */
  readonly isUnknown: boolean
}

const NONE: FirstMatch = { isUnknown: false }

class RuleSet {
  readonly #deny: readonly CompiledRule[]
  readonly #approve: readonly CompiledRule[]
  /** Undefined if a call needs no rule that allows it. */
  readonly #allow: readonly CompiledRule[] | undefined

  constructor(settings: RuleSettings, counts: (rule: CallRule) => boolean) {
    // The number of a rule in the file is its name.
    const rulesIn = (list: RuleList): readonly CompiledRule[] =>
      (settings[list] ?? []).flatMap((rule, at) => (counts(rule) ? [ruleOf(list, rule, at)] : []))
    this.#deny = rulesIn('deny')
    this.#allow = settings.allow && rulesIn('allow')
    this.#approve = rulesIn('approve')
  }

  /** The number of rules; a list of rules that allow counts as one more. */
  get size(): number {
    return this.#rules.length + (this.#allow === undefined ? 0 : 1)
  }

  /** Whether a rule depends on the tool or its arguments. */
  get readsCalls(): boolean {
    return this.#rules.some(({ expression: { mentions } }) => mentions.has('tool') || mentions.has('args'))
  }

  verdicts(judged: Judged): readonly { readonly name: string; readonly verdict: string }[] {
    return this.#rules.map((rule) => {
      const verdict = verdictOf(rule, judged)
      return { name: rule.name, verdict: typeof verdict === 'object' ? verdict.failure : String(verdict) }
    })
  }

  get #rules(): readonly CompiledRule[] {
    return [...this.#deny, ...(this.#allow ?? []), ...this.#approve]
  }

  decide(judged: Judged): RuleDecision {
    const deny = first(this.#deny, judged)
    if (deny.failure) return failed(deny.rule, deny.failure)
    if (deny.rule) return decided('deny', deny.rule, 'denies this')
    const allow = this.#allow === undefined ? NONE : first(this.#allow, judged)
    if (allow.failure) return failed(allow.rule, allow.failure)
    const isAllowed = this.#allow === undefined || allow.rule !== undefined
    if (!isAllowed && !allow.isUnknown) return NOT_ALLOWED
    const approve = first(this.#approve, judged)
    if (approve.failure) return failed(approve.rule, approve.failure)
    if (deny.isUnknown || !isAllowed || approve.isUnknown) return DEPENDS
    if (approve.rule) return decided('approve', approve.rule, 'wants an approval')
    return allow.rule ? decided('allow', allow.rule, 'allows this') : NO_RULE
  }
}

function first(rules: readonly CompiledRule[], judged: Judged): FirstMatch {
  let isUnknown = false
  for (const rule of rules) {
    const verdict = verdictOf(rule, judged)
    if (verdict === true) return { rule, isUnknown }
    if (verdict === 'unknown') isUnknown = true
    else if (verdict !== false) return { rule, failure: verdict, isUnknown }
  }
  return { isUnknown }
}

function listsOf({ deny = [], allow, approve = [], dryRun = false }: RuleSettings): RuleSettings {
  return { deny, approve, dryRun, ...(allow && { allow }) }
}

function verdictOf({ expression }: CompiledRule, { facts, size }: Judged): RuleVerdict {
  if (size <= expression.maxInput) return expression.evaluate(facts)
  const failure = `It takes inputs of at most ${expression.maxInput} values, and these have more.`
  return { failure, code: 'too_large' }
}

function failed(rule: CompiledRule | undefined, { failure, code }: { failure: string; code: string }): RuleDecision {
  const name = rule?.name ?? ''
  return {
    outcome: 'deny',
    rule: name,
    reason: `${name} could not be decided, which denies the call. ${failure}`,
    failure: code,
  }
}

function decided(
  outcome: 'allow' | 'deny' | 'approve',
  { name, reason, approval }: CompiledRule,
  verb: string,
): RuleDecision {
  return { outcome, rule: name, reason: reason ?? `${name} ${verb}.`, ...(approval && { approval }) }
}

function ruleOf(list: RuleList, given: CallRule | ApprovalRule, at: number): CompiledRule {
  const name = `gateway.${list}[${at}]`
  const expression = compile(given.if)
  if ('fault' in expression) throw new TypeError(`${name}.if ${expression.fault}`)
  const approval = 'by' in given ? given : undefined
  return { name, expression, reason: given.reason, approval }
}

const NO_RULE: RuleDecision = { outcome: 'allow', reason: 'No rule denies this.' }
const NOT_ALLOWED: RuleDecision = {
  outcome: 'deny',
  rule: 'gateway.allow',
  reason: 'No rule under gateway.allow allows this.',
}
const DEPENDS: RuleDecision = { outcome: 'depends', reason: 'The arguments decide.' }
const NO_OBJECT: RuleDecision = { outcome: 'deny', reason: 'The arguments must be an object.', failure: 'no_object' }
