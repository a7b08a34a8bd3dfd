/** The WWW-Authenticate header of a bearer-protected endpoint (RFC 6750 section 3, RFC 9728 section 5.1). */
export interface Challenge {
  /** Absent when the request brought no token at all. */
  readonly error?: 'invalid_token' | 'insufficient_scope'
  readonly description?: string
  /** Every scope the request needs, so that one new token is enough. */
  readonly scopes?: readonly string[]
  /** Where the protected-resource metadata is. */
  readonly resourceMetadata?: string
}

export function bearerChallenge({ error, description, scopes = [], resourceMetadata }: Challenge): string {
  const parts = [
    error && `error="${error}"`,
    description && `error_description="${quotable(description)}"`,
    resourceMetadata && `resource_metadata="${quotable(resourceMetadata)}"`,
    scopes.length > 0 && `scope="${scopes.join(' ')}"`,
  ].filter(Boolean)
  return parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`
}

/** RFC 6749, section 3.3: the characters of a scope. A quote in one would end the header's value early. */
export function assertScopes(scopes: readonly string[]): void {
  const bad = scopes.find((scope) => !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))
  if (bad !== undefined) throw new TypeError(`"${bad}" is not a scope: one word without quotes or backslashes.`)
}

function quotable(text: string): string {
  return text.replace(/[^\x20-\x7e]|["\\]/g, '')
}
