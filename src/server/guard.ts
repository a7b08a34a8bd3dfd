/** Host and Origin checks against DNS rebinding: a web page must not reach a local server through a name it controls. */
import type { HeaderReader } from '../protocol/index.ts'

export interface GuardOptions {
  /** Host names this server answers to, without port. @default localhost names when bound to a loopback address, else any */
  allowedHosts?: readonly string[]
  /** Origins whose pages may call, such as `https://app.example.com`. @default those on an allowed host, or none but same-host */
  allowedOrigins?: readonly string[]
}

/** A sentence that says why a request is refused, or undefined when it may pass. */
export type Guard = (header: HeaderReader) => string | undefined

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]']

export function createGuard(options: GuardOptions, loopback: boolean): Guard {
  const hosts = options.allowedHosts ?? (loopback ? LOCAL_HOSTS : undefined)
  const hostSet = hosts && new Set(hosts.map((host) => host.toLowerCase()))
  const originSet = options.allowedOrigins && new Set(options.allowedOrigins.map((origin) => new URL(origin).origin))
  const knownHosts = new Set<string>() // the exact values that passed, so the usual request costs one look-up

  const hostPasses = (value: string): boolean => {
    if (hostSet === undefined || knownHosts.has(value)) return true
    const passes = hostSet.has(hostName(value))
    if (passes && knownHosts.size < 100) knownHosts.add(value)
    return passes
  }

  return (header) => {
    const host = header('host') ?? ''
    if (!hostPasses(host)) return 'This server does not answer to that Host; add it to allowedHosts if it should.'
    const origin = header('origin')
    if (origin === undefined || originPasses(origin, host, originSet, hostSet)) return undefined
    return 'Pages of that Origin may not call this server; add it to allowedOrigins if they should.'
  }
}

function originPasses(
  origin: string,
  host: string,
  origins: ReadonlySet<string> | undefined,
  hosts: ReadonlySet<string> | undefined,
): boolean {
  if (!URL.canParse(origin)) return false
  const { origin: normal, host: originHost } = new URL(origin)
  if (origins !== undefined) return origins.has(normal)
  return hosts !== undefined ? hosts.has(hostName(originHost)) : originHost === host.toLowerCase()
}

/** The name without its port, lower case; IPv6 keeps its brackets. */
function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '')
}

/** Whether an address a server is bound to can be reached only from its own machine. */
export function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || address === '[::1]' || /^(?:::ffff:)?127\./.test(address)
}
