import { CodedError } from '../protocol/index.ts'

export const OPENAPI_CODES = ['OPENAPI_INVALID'] as const

export type OpenApiCode = (typeof OPENAPI_CODES)[number]

/** A document cannot be served. The message says what to change, and quotes no value of the document. */
export class OpenApiError extends CodedError<OpenApiCode> {
  override readonly name = 'OpenApiError'
}

/** The reason why one operation becomes no tool, as a sentence. */
export class Unsupported extends Error {}
