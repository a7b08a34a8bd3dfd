/**
 * The claims of a token, and the checks when it is opened. The text of a token is one JSON array:
 * six bound claims (see BOUND), issued at, expires at, round, id, body.
 *
 * Invariant: every claim is checked, each with its own code; an absent claim and a present one never match.
 */
import { type StateCode, StateError } from '../errors.ts'
import { jsonText } from '../jsonText.ts'

/** How much the clocks of two instances may differ before a token counts as issued in the future. */
const SKEW_SECONDS = 30

/** The binding of a token. It opens only if each member is the same as when it was sealed, or absent both times. */
export interface Binding {
  readonly principal?: string | undefined
  readonly method?: string | undefined
  readonly name?: string | undefined
  /** `digestOf` the request's arguments. */
  readonly argumentsDigest?: string | undefined
  /** The session of the call, in the session era. */
  readonly session?: string | undefined
}

/** The content of an opened token. Times are in seconds since 1970. */
export interface Sealed {
  readonly body: unknown
  readonly id: string
  readonly round: number
  readonly issuedAt: number
  readonly expiresAt: number
}

// The error for each bound claim that differs, in the order of the claims.
const BOUND: readonly (readonly [StateCode, string])[] = [
  ['STATE_AUDIENCE', 'State was sealed by a server of another name (audience); route the call to the one that asked.'],
  ['STATE_PRINCIPAL', 'State was sealed for another principal; repeat the call from its first round.'],
  ['STATE_SESSION', 'State was sealed in another session; repeat the call from its first round.'],
  ['STATE_METHOD', 'State was sealed for another method; send it back only with the request it answers.'],
  ['STATE_NAME', 'State was sealed for another tool, prompt or resource; send it back only with the one that asked.'],
  ['STATE_ARGUMENTS', 'State was sealed for other arguments; a retry repeats the first arguments unchanged.'],
]

export function writeClaims(audience: string, binding: Binding, sealed: Sealed): string {
  const { issuedAt, expiresAt, round, id } = sealed
  const head = jsonText([...boundClaims(audience, binding), issuedAt, expiresAt, round, id])
  return `${head.slice(0, -1)},${jsonText(sealed.body)}]`
}

/** Reads authenticated claims, and refuses claims of another request or another time. */
export function readClaims(text: string, audience: string, binding: Binding, nowMs: number): Sealed {
  const { bound, sealed } = parseRow(text)
  assertBound(bound, boundClaims(audience, binding))
  assertFresh(sealed, nowMs / 1000)
  return sealed
}

/** All claims, unchecked: for `inspectToken`. */
export function parseClaims(text: string): Sealed & { readonly audience: string; readonly binding: Binding } {
  const { bound, sealed } = parseRow(text)
  const [audience = '', principal, session, method, name, argumentsDigest] = bound
    .slice(0, BOUND.length)
    .map((claim) => (typeof claim === 'string' ? claim : undefined))
  return { ...sealed, audience, binding: { principal, session, method, name, argumentsDigest } }
}

function boundClaims(audience: string, binding: Binding): unknown[] {
  const { principal = null, session = null, method = null, name = null, argumentsDigest = null } = binding
  return [audience, principal, session, method, name, argumentsDigest]
}

function parseRow(text: string): { bound: unknown[]; sealed: Sealed } {
  const row = parseArray(text)
  const [issuedAt, expiresAt, round, id, body] = row.slice(BOUND.length)
  const sound =
    row.length === BOUND.length + 5 &&
    typeof issuedAt === 'number' &&
    typeof expiresAt === 'number' &&
    typeof round === 'number' &&
    typeof id === 'string'
  if (!sound) throw malformed()
  return { bound: row, sealed: { body, id, round, issuedAt, expiresAt } }
}

function parseArray(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value)) return value
  } catch {
    // Ignored: the parser's message quotes the text.
  }
  throw malformed()
}

function assertBound(actual: readonly unknown[], expected: readonly unknown[]): void {
  BOUND.forEach(([code, message], index) => {
    if (actual[index] !== expected[index]) throw new StateError(code, message)
  })
}

// The comparisons are negated so that the token is refused when the clock returns NaN.
function assertFresh({ issuedAt, expiresAt }: Sealed, now: number): void {
  if (!(issuedAt <= now + SKEW_SECONDS)) {
    throw new StateError('STATE_NOT_YET_VALID', 'State was sealed in the future; set the clocks of all instances.')
  }
  if (!(now < expiresAt)) {
    throw new StateError('STATE_EXPIRED', 'State expired; repeat the call from its first round.')
  }
}

function malformed(): StateError {
  return new StateError('STATE_MALFORMED', 'State was sealed by a version whose claims this one cannot read.')
}
