import type { IncomingMessage } from 'node:http'
import type { Place } from './place.ts'

export type Redirect =
  /** Within the origin, with the method and the body as they are. */
  | { readonly kind: 'follow'; readonly place: Place }
  /** Anything else: another host would get what is not meant for it, and a GET is not the same request. */
  | { readonly kind: 'stay'; readonly to: string; readonly isElsewhere: boolean }

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export function redirectIn({ statusCode = 0, headers }: IncomingMessage, from: Place): Redirect | undefined {
  const { location } = headers
  if (!STATUSES.has(statusCode) || location === undefined || !URL.canParse(location, from.url)) return undefined
  const url = new URL(location, from.url)
  const isElsewhere = url.origin !== from.url.origin
  const isSame = (statusCode === 307 || statusCode === 308) && !isElsewhere
  return isSame
    ? { kind: 'follow', place: { ...from, url } }
    : { kind: 'stay', to: shownOf(url, isElsewhere), isElsewhere }
}

/** Without the query, and without the path of what is no address of the web. */
function shownOf({ protocol, origin, pathname }: URL, isElsewhere: boolean): string {
  if (!isElsewhere) return pathname
  return /^https?:$/.test(protocol) ? origin + pathname : `a ${protocol} address`
}
