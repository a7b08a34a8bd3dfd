export { compile } from './expression.ts'
export { type RuleDecision, Rules } from './rules.ts'
export type { ApprovalRule, ApprovalTerms, CallRule, RuleSettings } from './settings.ts'
