/**
 * The key under which state of a server is kept (SEP-1655, state scope): a domain name, or the path of a program. Some
 * servers have none. Then the result is a sentence for the host, no state is kept, and calls go on without it.
 */
import { assertOptionNames, type OptionNames } from '../../protocol/index.ts'
import { parse } from 'tldts'
import { programServer, thisMachine } from './program.ts'
import type { JarProgram, JarServer } from './store.ts'

export interface JarScopeOptions {
  /**
   * Also keeps state for localhost, IP addresses and unregistered names. For development only: another server may have
   * such a name tomorrow. @default false
   */
  allowLocal?: boolean
}

const SCOPE_OPTIONS: OptionNames<JarScopeOptions> = { allowLocal: true }

/** The key under which state of a server is kept. A URL is not fetched, and a program is not started. */
export function jarServerOf(target: { readonly url: string } | JarProgram, options: JarScopeOptions = {}): JarServer {
  assertOptionNames(options, SCOPE_OPTIONS, 'jarServerOf')
  const { allowLocal = false } = options
  return 'url' in target ? domainServer(target.url, allowLocal) : programServer(target, thisMachine)
}

const SCHEMES = new Set(['http:', 'https:', 'ws:', 'wss:'])
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'ws:': '80', 'https:': '443', 'wss:': '443' }

// These are in the list of public suffixes, but nobody can register a name below them.
const UNREGISTERED = /(^|\.)(arpa|onion)$/

const ADVICE = 'Use allowLocal (--allow-local) while you develop.'

/**
 * The key of an HTTP server: its full domain name as the URL parser normalizes it (lower case, punycode, IP addresses
 * in one form), which is also what `fetch` connects to. With `allowLocal`, a server without a registered domain gets a
 * key with its port, because other ports of one machine are other servers.
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
  if (domain === null) return `The name is a public suffix, under which anybody may have a name. ${ADVICE}`
  return undefined
}

function isDomainName(host: string): boolean {
  return host.length <= 253 && host.split('.').every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))
}
