/**
 * For whom state is kept (SEP-1655, state scope). A refusal is a sentence for the host: no state is kept then, and
 * calls go on without.
 */
import { parse } from 'tldts'
import { thisMachine } from './machine.ts'
import { programServer } from './program.ts'
import type { JarProgram, JarServer } from './store.ts'

export interface JarScopeOptions {
  /**
   * Also keeps state for localhost, IP addresses and names that nobody registered. For development only: who is behind
   * such a name today need not be who was behind it yesterday. @default false
   */
  allowLocal?: boolean
}

/** The name under which state is kept for a server. A URL is not fetched, and a program not started. */
export function jarServerOf(target: { readonly url: string } | JarProgram, options: JarScopeOptions = {}): JarServer {
  const { allowLocal = false } = options
  return 'url' in target ? domainServer(target.url, allowLocal) : programServer(target, thisMachine)
}

const SCHEMES = new Set(['http:', 'https:', 'ws:', 'wss:'])
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'ws:': '80', 'https:': '443', 'wss:': '443' }

// These have entries in the list of public suffixes, but no registry gives their names to anybody.
const UNREGISTERED = /(^|\.)(arpa|onion)$/

const ADVICE = 'Use allowLocal (--allow-local) while you develop.'

/**
 * The name of an HTTP server: its full domain name, as the parser of URLs writes it that `fetch` uses, too: small
 * letters, other scripts as `xn--`, numbers in any spelling as an address. Servers that have no such name get none,
 * except in development, where the port is part of it: on one machine other ports are other servers.
 */
function domainServer(url: string, allowLocal: boolean): JarServer {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (!address || !SCHEMES.has(address.protocol)) return { refused: 'The address is not a valid http(s) URL.' }
  const host = address.hostname.replace(/\.$/, '')
  const objection = objectionTo(host)
  if (objection === undefined) return { server: host }
  if (!allowLocal || host === '') return { refused: objection }
  return { server: `${host}:${address.port || DEFAULT_PORTS[address.protocol]}` }
}

/** Why no state is kept for a host (SEP-1655, state scope), or undefined. */
function objectionTo(host: string): string | undefined {
  if (/(^|\.)localhost$/.test(host)) return `No state is kept for localhost. ${ADVICE}`
  const { isIp, isIcann, isPrivate, domain } = parse(host, { allowPrivateDomains: true, extractHostname: false })
  if (isIp) return `No state is kept for servers named by an IP address. ${ADVICE}`
  const isRegistered = (isIcann || isPrivate) && !UNREGISTERED.test(host)
  if (!isRegistered || !isDomainName(host)) return `State is kept only for names in a registered domain. ${ADVICE}`
  if (domain === null) return `The name is a suffix under which anybody may have a name. ${ADVICE}`
  return undefined
}

function isDomainName(host: string): boolean {
  return host.length <= 253 && host.split('.').every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))
}
