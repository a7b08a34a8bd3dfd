/**
 * Host and Origin checks against DNS rebinding: a web page must not reach a server through a name its author controls.
 *
 * - If the server is reached over a loopback address, the Host must be a local name or in `allowedHosts`.
 * - A page may call only from an allowed Origin. A Host equal to the Origin proves nothing: after rebinding both are
 *   the attacker's name. So without a list only local pages may call, and only under a local name.
 * - A request without an Origin does not come from a page's script.
 */
import type { HeaderReader, OptionNames } from '../../protocol/index.ts'
import { isLocalHost } from '../localHost.ts'

export interface GuardOptions {
  /** Host names this server answers to; a port is ignored. @default local names when reached by loopback, else any */
  allowedHosts?: readonly string[] | undefined
  /**
   * Origins whose pages may call, such as `https://app.example.com`. @default those on `allowedHosts`, else local ones
   */
  allowedOrigins?: readonly string[] | undefined
}

export const GUARD_OPTIONS: OptionNames<GuardOptions> = { allowedHosts: true, allowedOrigins: true }

/** The reason to refuse a request, or undefined. `loopback`: whether it came over a loopback address. */
export type HostGuard = (header: HeaderReader, loopback: boolean) => string | undefined

const WRONG_HOST = 'This server does not answer to that Host; add it to allowedHosts if it should.'
const WRONG_ORIGIN = 'Pages of that Origin may not call this server; add it to allowedOrigins if they should.'
const MAX_KNOWN = 100

export function createHostGuard({ allowedHosts, allowedOrigins }: GuardOptions): HostGuard {
  const hosts = allowedHosts && new Set(allowedHosts.map(readAllowedHost))
  const origins = allowedOrigins && new Set(allowedOrigins.map(readAllowedOrigin))
  const known = new Set<string>() // a cache of Host values that pass

  const hostPasses = (value: string, loopback: boolean): boolean => {
    if ((hosts === undefined && !loopback) || known.has(value)) return true
    const name = hostName(value)
    const passes = name !== undefined && (hosts === undefined ? isLocalHost(name) : hosts.has(name))
    if (passes && known.size < MAX_KNOWN) known.add(value)
    return passes
  }

  const originPasses = (value: string, host: string): boolean => {
    const origin = readOrigin(value)
    if (origin === undefined) return false
    if (origins !== undefined) return origins.has(origin.text)
    if (!origin.web) return false
    return hosts !== undefined ? hosts.has(origin.host) : isLocalHost(origin.host) && isLocalHost(hostName(host) ?? '')
  }

  return (header, loopback) => {
    const host = header('host') ?? ''
    if (!hostPasses(host, loopback)) return WRONG_HOST
    const origin = header('origin')
    return origin === undefined || originPasses(origin, host) ? undefined : WRONG_ORIGIN
  }
}

const HOST = /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d*)?$/i

/** The normalized name of a Host header: lower case, no port, no final dot, addresses in their shortest form. */
function hostName(value: string): string | undefined {
  const name = HOST.exec(value)?.[1]?.replace(/(?<=.)\.$/, '')
  return name !== undefined && URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : undefined
}

interface Origin {
  readonly text: string
  readonly host: string
  readonly web: boolean
}

/** A normalized Origin; undefined for `null`, lists, and addresses with a path or a user. */
function readOrigin(value: string): Origin | undefined {
  const [, scheme = '', authority = ''] = /^([a-z][a-z\d+.-]*):\/\/([^/?#@\\\s,]+)$/i.exec(value) ?? []
  const host = hostName(authority)
  if (host === undefined || !URL.canParse(value)) return undefined
  // URL's own `origin` is "null" for every scheme but http and https, so all of those would be equal.
  const { protocol, port } = new URL(value)
  const web = /^https?$/i.test(scheme)
  return { host, web, text: `${protocol}//${host}${port === '' ? '' : `:${port}`}` }
}

function readAllowedHost(host: string): string {
  const name = hostName(host) ?? hostName(`[${host}]`)
  if (name === undefined) throw new TypeError(`allowedHosts: "${host}" is not a host name.`)
  return name
}

function readAllowedOrigin(origin: string): string {
  const read = readOrigin(origin.replace(/\/$/, ''))
  if (read === undefined) throw new TypeError(`allowedOrigins: "${origin}" is not an origin.`)
  return read.text
}
