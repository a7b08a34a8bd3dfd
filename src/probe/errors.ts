import { CodedError } from '../protocol/index.ts'

/** Why a probe could not run. Whatever a server does ends in a verdict, never in an error. */
export const PROBE_CODES = ['PROBE_OPTION_INVALID', 'PROBE_NOT_STARTED'] as const

export type ProbeCode = (typeof PROBE_CODES)[number]

/** The one error of this folder. Its message says what to do, and never holds a credential. */
export class ProbeError extends CodedError<ProbeCode> {
  override readonly name = 'ProbeError'
}
