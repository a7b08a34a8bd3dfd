import { writeSync } from 'node:fs'

/** The few calls we make; pino, console-like loggers and most others fit. Details first, then the sentence. */
export interface Logger {
  debug(details: object, message: string): void
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** A logger that can be exchanged once, by the host that starts the server. */
export class LoggerSlot {
  #logger: Logger | undefined

  constructor(logger: Logger | undefined) {
    this.#logger = logger
  }

  get current(): Logger {
    return this.#logger ?? silent
  }

  /** A host's default; what the author chose stays. */
  async defaultToPino(destination: 1 | 2): Promise<void> {
    if (this.#logger !== undefined) return
    const { pino } = await import('pino')
    const level = process.env['PANNIER_LOG_LEVEL'] ?? 'info'
    // Errors come as details already (errorDetails.ts); pino's own reading would see an object and say so.
    const serializers = { err: (details: unknown) => details }
    this.#logger = pino({ name: 'pannier', level, serializers }, { write: (line) => writeLine(destination, line) })
  }
}

/** Whoever read the log may be gone. That is no reason to fail, nor to wait for them when the process ends. */
function writeLine(destination: 1 | 2, line: string): void {
  try {
    writeSync(destination, line)
  } catch {
    // There is nowhere left to say it.
  }
}

/**
 * What of an error goes into a log. Only these fields: HTTP clients hang whole requests on their errors, headers with
 * credentials included, and jose hangs a token's claims on them.
 */
interface ErrorDetails {
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
