/** The address of a page that a server wants a person to visit: what is shown of it, and whether it is opened at all. */
import { isIP } from 'node:net'
import { domainToUnicode } from 'node:url'

export type VisitAddress =
  | {
      readonly kind: 'usable'
      /** What is shown and what is opened: one text, all of it ASCII. */
      readonly href: string
      /** Name and port, in ASCII. */
      readonly host: string
      /** What a person should know before a yes. */
      readonly warnings: readonly string[]
    }
  | { readonly kind: 'refused'; readonly reason: string }

const MAX_LENGTH = 8192

export function readVisitAddress(text: unknown): VisitAddress {
  if (typeof text !== 'string' || !URL.canParse(text)) return refused('It is not a whole address.')
  const url = new URL(text)
  if (url.href.length > MAX_LENGTH) return refused(`It has more than ${MAX_LENGTH} characters, too many to look at.`)
  if (url.username !== '' || url.password !== '') {
    return refused('It has a user name or password in front of the host, which makes the host look like another.')
  }
  const local = isLocal(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && local)) {
    return refused('Only https addresses are opened, and http ones on this computer.')
  }
  return { kind: 'usable', href: url.href, host: url.host, warnings: warningsOf(url, local) }
}

function warningsOf({ hostname }: URL, local: boolean): string[] {
  const warnings: string[] = []
  if (hostname.split('.').some((label) => label.startsWith('xn--'))) {
    warnings.push(
      `The host is written with letters beyond a to z: "${domainToUnicode(hostname)}". They may imitate others.`,
    )
  }
  if (local) warnings.push('The page is on this computer.')
  else if (isIP(bare(hostname)) !== 0) warnings.push('The host is a bare number, not a name.')
  return warnings
}

// The URL parser has written every spelling of an IPv4 address in its usual form.
function isLocal(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  const address = bare(hostname)
  return (isIP(address) === 4 && address.startsWith('127.')) || address === '::1'
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function refused(reason: string): VisitAddress {
  return { kind: 'refused', reason }
}
