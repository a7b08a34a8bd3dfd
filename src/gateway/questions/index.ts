export { approvalQuestion } from './approval.ts'
export { GatewayQuestions, type HeldInput } from './gatewayQuestions.ts'
export type { HeldCall } from './heldCall.ts'
export { listOf, openQuestions } from './questionStore.ts'
