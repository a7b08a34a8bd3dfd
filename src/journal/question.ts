import type { InputRequest } from '@modelcontextprotocol/client'
import type { Approvers, Journal } from './journal.ts'
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
 * Who may answer, for questions that name their approvers. These accept only an answer whose giver was checked: by the task
 * service, which recorded the giver, or here, where the answer comes with the caller's request.
 */
export interface ApprovalOptions {
  /** The id of the caller, if the caller is one of these; absent where callers are not known. */
  readonly approverId?: (approvers: Approvers) => string | undefined
  /** Whether questions may be for others than the caller, as in a task. @default false */
  readonly asksOthers?: boolean
  /** Whether the handler's calls can be tasks, with another client. @default false */
  readonly hasTaskOption?: boolean
}

type Approvable = Pick<Question<unknown>, 'approvers'>

/** The caller's id, where the question names who may answer and the caller is one of them. */
export function approverId(key: string, { approvers }: Approvable, options: ApprovalOptions): string | undefined {
  if (approvers === undefined) return undefined
  if (options.approverId === undefined) throw callersUnknown(key)
  return options.approverId(approvers)
}

/** A question that is not for the caller makes a task of the call (`detach`), or fails it. */
export async function assertForCaller(
  key: string,
  { approvers }: Approvable,
  callerId: string | undefined,
  detach: () => Promise<void>,
  { hasTaskOption = false }: ApprovalOptions,
): Promise<void> {
  if (approvers === undefined || callerId !== undefined) return
  await detach()
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
