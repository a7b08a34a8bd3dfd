/** Every error number that Pannier sends or understands. The first five are JSON-RPC's own, the others MCP's. */
export const CODES = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  /** A resource that is not there, in the revisions before 2026-07-28. Since then that is INVALID_PARAMS. */
  RESOURCE_NOT_FOUND: -32002,
  HEADER_MISMATCH: -32020,
  MISSING_CLIENT_CAPABILITY: -32021,
  UNSUPPORTED_PROTOCOL_VERSION: -32022,
} as const

/** Whether a number is in the range that JSON-RPC leaves to servers for faults of their own. */
export function isServerError(code: number): boolean {
  return code <= -32000 && code >= -32099
}

/** The codes of faults in a message, which are found before any handler runs. */
export const PROTOCOL_CODES = [
  'PARSE_FAILED',
  'MESSAGE_INVALID',
  'METHOD_UNKNOWN',
  'PARAMS_INVALID',
  'RESOURCE_UNKNOWN',
  'ENVELOPE_INVALID',
  'HEADER_MISMATCH',
  'CAPABILITY_MISSING',
  'VERSION_UNSUPPORTED',
] as const

export type ProtocolCode = (typeof PROTOCOL_CODES)[number]

/** An error with a code of a closed list. Each folder has a subclass, whose messages say what to do. */
export abstract class CodedError<Code extends string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** A fault in a message. `data` is sent to the peer, so it must contain nothing that the peer may not know. */
export class ProtocolError extends CodedError<ProtocolCode> {
  override readonly name = 'ProtocolError'
  readonly data: unknown

  constructor(code: ProtocolCode, message: string, data?: unknown) {
    super(code, message)
    if (!PROTOCOL_CODES.includes(code)) throw new TypeError(unknownCode(code))
    this.data = data
  }
}

/** An error that another server answered with. It is passed on as it came. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The error in a response of another program; undefined if it is none: its code has to be an integer. */
export function remoteErrorIn(error: unknown): RemoteError | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, message, data } = error as Record<string, unknown>
  const isError = Number.isSafeInteger(code) && typeof message === 'string'
  return isError ? new RemoteError(code as number, message, data) : undefined
}

/** Programs without types may pass any code, such as a number. No such code goes to the peer. */
function unknownCode(code: unknown): string {
  return `ProtocolError has no code ${JSON.stringify(code)}. Use one of ${PROTOCOL_CODES.join(', ')}.`
}
