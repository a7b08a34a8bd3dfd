/**
 * Cookies of the pages. Over https their names have the prefix `__Host-`, so that no other host, and no page without TLS,
 * can set them. A request that another site makes brings them only when it opens a page.
 */
import type { HeaderReader } from '../../protocol/index.ts'

export interface CookieOptions {
  /** The life of the cookie; 0 removes it. */
  readonly seconds: number
  /** Whether the pages are served over https. */
  readonly isSecure: boolean
}

export function newCookie(name: string, value: string, { seconds, isSecure }: CookieOptions): string {
  const attributes = `Path=/; Max-Age=${Math.floor(seconds)}; HttpOnly; SameSite=Lax`
  return `${fullName(name, isSecure)}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`
}

/** The value of a cookie. Undefined where it is absent, empty, or sent twice: one of the two is somebody else's. */
export function readCookie(header: HeaderReader, name: string, isSecure: boolean): string | undefined {
  const start = `${fullName(name, isSecure)}=`
  const found = (header('cookie') ?? '').split(/[;,] */).filter((pair) => pair.startsWith(start))
  return found.length === 1 ? found[0]?.slice(start.length) || undefined : undefined
}

function fullName(name: string, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name
}
