import type { InputRequest } from '@modelcontextprotocol/client'
import type { AnsweredBy, Approvers, Journal } from './journal.ts'
import { JournalError } from './errors.ts'

/** A question of a handler: the request to send, and how to read the response. */
export interface Question<T> {
  /** The input request as it is sent to the client. */
  readonly request: InputRequest
  /** Equal for equal requests: shows whether a question has changed since it was answered. */
  readonly fingerprint: string
  /** Whether an answer is valid only for exactly this request. If not, it is valid for any question with its key. */
  readonly pinned: boolean
  /** Who may answer. @default the caller */
  readonly approvers?: Approvers | undefined
  /** The request as it is sent after a response that did not fit. @default the same request */
  readonly again?: (issues: string) => InputRequest
  /** Reads a response that already has the right shape. */
  read(key: string, response: Readonly<Record<string, unknown>>): Reading<T> | Promise<Reading<T>>
}

/** The value of a response, or a sign that the response does not fit the question. */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  /** `issues` says what is wrong with the response, in words for the person. */
  | { readonly ok: false; readonly issues?: string }

/**
 * Who may answer, for questions that name their approvers. Such a question accepts an answer only if its author was
 * checked: by the task service, which recorded the author, or here, if the answer comes with the caller's request.
 */
export interface ApprovalOptions {
  /** The caller, if it may answer; absent if callers are not known. */
  readonly approver?: (approvers: Approvers) => AnsweredBy | undefined
  /** Whether questions may be for others than the caller, as in a task. @default false */
  readonly asksOthers?: boolean
  /** Whether the handler's calls can be tasks, with another client. @default false */
  readonly hasTaskOption?: boolean
}

/** A caller, as it is recorded with its answer. */
export function answererOf(
  principal: (Pick<AnsweredBy, 'id'> & Partial<AnsweredBy>) | undefined,
): AnsweredBy | undefined {
  if (principal === undefined) return undefined
  const { id, subject = id, claims = {} } = principal
  return { id, subject, claims }
}

type Approvable = Pick<Question<unknown>, 'approvers'>

/** The caller, if the question has `by` and the caller fits. */
export function approvingCaller(
  key: string,
  { approvers }: Approvable,
  options: ApprovalOptions,
): AnsweredBy | undefined {
  if (approvers === undefined) return undefined
  if (options.approver === undefined) throw callersUnknown(key)
  return options.approver(approvers)
}

/** A question that is not for the caller lets the call wait elsewhere, or fails it. */
export async function assertForCaller(
  key: string,
  { approvers }: Approvable,
  caller: AnsweredBy | undefined,
  waitElsewhere: () => Promise<void>,
  { hasTaskOption = false }: ApprovalOptions,
): Promise<void> {
  if (approvers === undefined || caller !== undefined) return
  await waitElsewhere()
  throw needsTask(key, approvers, hasTaskOption)
}

/** Removes an answer that only the caller can have given, who may not give it. */
export function dropUnvouched(key: string, { approvers }: Approvable, { answers }: Journal): void {
  if (approvers !== undefined && answers.get(key)?.by === undefined) answers.delete(key)
}

function needsTask(key: string, { by }: Approvers, hasTaskOption: boolean): JournalError {
  const why = `Only ${by.join(' or ')} may answer "${key}", and only a task can wait for somebody else.`
  const advice = hasTaskOption ? 'This call is no task: call the tool' : 'Give the tool the option "task", and call it'
  return new JournalError('APPROVER_ELSEWHERE', `${why} ${advice} with a client that supports tasks.`)
}

function callersUnknown(key: string): JournalError {
  return new JournalError(
    'APPROVER_UNKNOWN',
    `The question "${key}" says who may answer it, and this server does not know its callers; give it a "principal".`,
  )
}
