export { type ApprovalQuestion, approvalQuestion } from './approval.ts'
export {
  GatewayQuestions,
  type GatewayQuestionsOptions,
  type HeldInput,
  type QuestionStore,
} from './gatewayQuestions.ts'
export type { HeldCall } from './heldCall.ts'
