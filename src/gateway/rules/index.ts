export { compile, type Expression } from './expression.ts'
export type { RuledTool } from './facts.ts'
export { type Decision, Rules, type Subject } from './rules.ts'
export type { Approval, ApprovalRule, CallRule, RuleSettings } from './settings.ts'
