/**
 * What of an error goes into a log. Only these fields: HTTP clients hang whole requests on their errors, headers with
 * credentials included, and jose hangs a token's claims on them.
 */
export interface ErrorDetails {
  readonly type: string
  readonly message?: string
  readonly code?: string | number
  readonly stack?: string
  readonly cause?: ErrorDetails
}

const MAX_CAUSES = 4

export function errorDetails(error: unknown, causes = MAX_CAUSES): ErrorDetails {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack, cause } = error
  const code = 'code' in error ? error.code : undefined
  return {
    type: name,
    message,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && causes > 0 && { cause: errorDetails(cause, causes - 1) }),
  }
}
