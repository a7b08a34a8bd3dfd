/**
 * Combines the rules: from the findings so far, the next step or the decision. A pure function, tested as a table. In
 * the usual order the list of known servers comes first, then the sequential test; the score is the last resort.
 */
import { decision, whyUnknown } from './result.ts'
import type { Findings } from './findings.ts'
import { decidedByMethod, type NextStep, type Rule, RULES } from './rules.ts'
import type { Method } from '../methods/result.ts'

export type Order = 'usual' | 'cheap-first'

/** With `methods` no other rule is used. One method alone takes exactly its own steps. */
export function nextStep(findings: Findings, order: Order, methods?: readonly Method[]): NextStep {
  for (const rule of rulesFor(order, methods)) {
    const next = rule(findings)
    if (next !== undefined) return next
  }
  return { decided: decision('UNKNOWN', 'nothing', 0, whyUnknown(findings, methods)) }
}

const BY_REQUESTS = ['publicList', 'sequential', 'transport', 'control', 'declaration', 'capabilities'] as const

const ORDERS: Readonly<Record<Order, readonly (keyof typeof RULES)[]>> = {
  usual: ['reachability', 'metadata', 'era', ...BY_REQUESTS],
  'cheap-first': ['metadata', 'era', 'agreement', ...BY_REQUESTS],
}

const SINGLE_METHOD: Readonly<Record<Method, Rule>> = {
  sequential: RULES.sequential,
  capabilities: ({ initialize }) => (initialize === undefined ? { ask: 'initialize' } : undefined),
  metadata: ({ metadata: guess }) => decidedByMethod(guess),
}

function rulesFor(order: Order, methods: readonly Method[] | undefined): readonly Rule[] {
  const [only] = methods ?? []
  if (methods === undefined || only === undefined) return ORDERS[order].map((name) => RULES[name])
  if (methods.length === 1) return [SINGLE_METHOD[only]]
  return ORDERS[order].filter((name) => methods.some((method) => method === name)).map((name) => RULES[name])
}
