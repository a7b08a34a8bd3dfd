/** Scopes of OAuth: their syntax, and their claims in tokens. */

/** RFC 6749, section 3.3: the characters of a scope. A quote in one would end the header's value early. */
export function isScope(text: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text)
}

export function assertScopes(scopes: readonly string[]): void {
  const bad = scopes.find((scope) => !isScope(scope))
  if (bad !== undefined) throw new TypeError(`"${bad}" is not a scope: one word without quotes or backslashes.`)
}

/** `scope` is a string of words (RFC 9068); some issuers write `scp`, as a string or an array. */
export function scopesOf({ scope, scp }: Readonly<Record<string, unknown>>): readonly string[] {
  const granted = scope ?? scp
  if (typeof granted === 'string') return granted.split(' ').filter(Boolean)
  return Array.isArray(granted) ? granted.filter((item) => typeof item === 'string') : []
}
