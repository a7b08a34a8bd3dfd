/** What can be wrong with a message, before any handler sees it. */
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

/** A fault of the message itself. `data` goes to the peer, so it holds nothing the peer did not send. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
  readonly code: ProtocolCode
  readonly data: unknown

  constructor(code: ProtocolCode, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}
