/** Logging: the interface of a logger, and the logged members of an error. */

/** The logger interface: first the details, then the message. pino, and most others, implement it. */
export interface Logger {
  debug(details: object, message: string): void
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/**
 * The fields of an error that are logged, and no others: HTTP clients attach whole requests to their errors, with
 * headers and credentials, and jose attaches the claims of a token.
 */
interface ErrorDetails {
  readonly type: string
  /** The names of the members of an object that is no error, without their values. */
  readonly members?: readonly string[]
  readonly message?: string
  readonly code?: string | number
  readonly stack?: string
  readonly cause?: ErrorDetails
}

const MAX_CAUSES = 4
// Messages may quote what a client sent.
const MAX_MESSAGE_CHARS = 2000
const MAX_STACK_CHARS = 10_000
const MAX_FIELD_CHARS = 200

/** A text that a client chose, for a log line or a message. */
export function shortened(text: string, maxChars = MAX_FIELD_CHARS): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}… (${text.length} characters)`
}

export function errorDetails(error: unknown, causes = MAX_CAUSES): ErrorDetails {
  // A thrown string is the message that the author would have given to an Error.
  if (typeof error === 'string') return { type: 'string', message: shortened(error, MAX_MESSAGE_CHARS) }
  if (typeof error === 'object' && error !== null && !(error instanceof Error)) return shapeOf(error)
  if (!(error instanceof Error)) return { type: error === null ? 'null' : typeof error }
  const { message, stack, cause } = error
  const type = errorType(error)
  const code = 'code' in error ? error.code : undefined
  const details = {
    type,
    message: shortened(message, MAX_MESSAGE_CHARS),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(stack !== undefined && { stack: shortened(stack, MAX_STACK_CHARS) }),
    ...(cause !== undefined && causes > 0 && { cause: errorDetails(cause, causes - 1) }),
  }
  // pino's own serializer takes the type from the constructor or, where there is none, from the name.
  return Object.defineProperties(details, { constructor: { value: undefined }, name: { value: type } })
}

/** The name that an author gave to an error; without one, its class. */
export function errorType(error: Error): string {
  const hasName = [error, Object.getPrototypeOf(error) as object].some((object) => Object.hasOwn(object, 'name'))
  const maker: unknown = error.constructor
  return !hasName && typeof maker === 'function' && maker.name !== '' ? maker.name : error.name
}

const MAX_MEMBERS = 10
// Names that an author gives. One with digits, or a long one, may be a key of a map: a token, or an id.
const MEMBER_NAME = /^[A-Za-z_$]{1,24}$/

function shapeOf(thrown: object): ErrorDetails {
  try {
    const members = Object.keys(thrown).filter((name) => MEMBER_NAME.test(name))
    const prototype = Object.getPrototypeOf(thrown) as object | null
    const maker: unknown = prototype?.constructor
    const type = typeof maker === 'function' && maker !== Object && maker.name !== '' ? maker.name : 'object'
    return { type: shortened(type), members: members.slice(0, MAX_MEMBERS) }
  } catch {
    return { type: 'object' } // a proxy may throw
  }
}
