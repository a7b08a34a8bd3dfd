/**
 * The combination: what to ask next, or what is decided, from what is known so far. Pure, so that it can be tested as a
 * table. In the usual order a known server is not asked; then the sequential test decides; the score is the last resort.
 */
import { decision, whyUnknown } from './result.ts'
import type { Findings } from './findings.ts'
import { clear, type Next, type Rule, RULES } from './rules.ts'
import type { Method } from '../methods/result.ts'

export type Order = 'usual' | 'cheap-first'

/** `methods` leaves everything else out; one of them alone is asked exactly as it is described. */
export function nextOf(findings: Findings, order: Order, methods?: readonly Method[]): Next {
  for (const rule of rulesOf(order, methods)) {
    const next = rule(findings)
    if (next !== undefined) return next
  }
  return { decided: decision('UNKNOWN', 'nothing', 0, whyUnknown(findings, methods)) }
}

const ASKING = ['exception', 'sequential', 'transport', 'control', 'declaration', 'capabilities'] as const

const ORDERS: Readonly<Record<Order, readonly (keyof typeof RULES)[]>> = {
  usual: ['reach', 'metadata', 'era', ...ASKING],
  'cheap-first': ['metadata', 'era', 'agreement', ...ASKING],
}

const ALONE: Readonly<Record<Method, Rule>> = {
  sequential: RULES.sequential,
  capabilities: ({ initialize }) => (initialize === undefined ? { ask: 'initialize' } : undefined),
  metadata: ({ metadata: guess }) => clear(guess),
}

function rulesOf(order: Order, methods: readonly Method[] | undefined): readonly Rule[] {
  const [only] = methods ?? []
  if (methods === undefined || only === undefined) return ORDERS[order].map((name) => RULES[name])
  if (methods.length === 1) return [ALONE[only]]
  return ORDERS[order].filter((name) => methods.some((method) => method === name)).map((name) => RULES[name])
}
