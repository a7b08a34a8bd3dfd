/**
 * Asks the rules in their order: from the findings so far, the next step or the decision. A pure function, tested as a
 * table. In the usual order behaviour comes first, and a known name or the score counts only where behaviour decides
 * nothing. In the documented order known servers come first, then the sequential test; the score is the last resort.
 */
import { decision, whyUnknown } from './result.ts'
import type { Findings } from './findings.ts'
import { decidedByMethod, type NextStep, type Rule, RULES } from './rules.ts'
import type { Method } from '../methods/result.ts'

export type Order = 'usual' | 'documented' | 'cheap-first'

export const ORDER_NAMES: readonly Order[] = ['usual', 'documented', 'cheap-first']

/** With `methods` no other rule is used. One method alone takes exactly its own steps. */
export function nextStep(findings: Findings, order: Order, methods?: readonly Method[]): NextStep {
  for (const rule of rulesFor(order, methods)) {
    const next = rule(findings)
    if (next !== undefined) return next
  }
  return { decided: decision('UNKNOWN', 'nothing', 0, whyUnknown(findings, methods)) }
}

/** What a server does. */
export const BY_BEHAVIOUR = [
  'reachability',
  'era',
  'publicList',
  'sequential',
  'oneSession',
  'transport',
  'control',
] as const
const BY_REQUESTS = ['publicList', 'sequential', 'transport', 'control', 'declaration', 'capabilities'] as const

const ORDERS: Readonly<Record<Order, readonly (keyof typeof RULES)[]>> = {
  usual: [...BY_BEHAVIOUR, 'declaration', 'metadata', 'capabilities'],
  documented: ['metadata', 'sequential', 'capabilities'],
  'cheap-first': ['metadata', 'era', 'agreement', ...BY_REQUESTS],
}

const SINGLE_METHOD: Readonly<Record<Method, Rule>> = {
  sequential: RULES.sequential,
  capabilities: ({ initialize }) => (initialize === undefined ? { ask: 'initialize' } : undefined),
  metadata: ({ metadata: guess }) => decidedByMethod(guess),
  tools: RULES.tools,
  program: RULES.program,
}

function rulesFor(order: Order, methods: readonly Method[] | undefined): readonly Rule[] {
  const [only] = methods ?? []
  if (methods === undefined || only === undefined) return ORDERS[order].map((name) => RULES[name])
  if (methods.length === 1) return [SINGLE_METHOD[only]]
  const names = [...ORDERS[order === 'usual' ? 'documented' : order], 'tools', 'program'] as const
  return names.filter((name) => methods.some((method) => method === name)).map((name) => RULES[name])
}
