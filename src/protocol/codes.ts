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
