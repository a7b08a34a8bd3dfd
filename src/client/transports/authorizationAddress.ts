/**
 * The only way to fetch what an MCP server names: its metadata, the authorization server, and the addresses for
 * registration, login and tokens. They must be https, and not in a private network that the server itself is not in: else
 * a server on the internet could make this client send requests there.
 *
 * All addresses of a document are checked when it arrives, so before anybody is asked to log in.
 */
import type { BlockList } from 'node:net'
import {
  type FetchLike,
  type OAuthDiscoveryState,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/client'
import { findNodeModule, isObject, unref } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { boundedFetch, sameOrigin } from './boundedFetch.ts'
import type { HttpAddress } from '../config/address.ts'

/** The members of an authorization server's metadata that the SDK sends requests or people to. */
const ENDPOINTS = ['authorization_endpoint', 'registration_endpoint', 'token_endpoint'] as const

/** How long one request of a flow may take. Others wait for the flow. */
const ANSWER_MS = 10_000

/** The largest document of a flow. It is parsed at once, and metadata has a few kilobytes. */
const MAX_DOCUMENT_BYTES = 256 * 1024

/** The `fetch` of one flow. */
export interface FlowFetch {
  readonly fetch: FetchLike
  /** Why the flow can no longer succeed. Otherwise the SDK would try other addresses and report a different error. */
  readonly refusal: ClientError | undefined
}

/** After one refused address or one timeout, all requests are refused, because the SDK would try other addresses. */
export function authorizationFetch(serverUrl: string, fetch: FetchLike): FlowFetch {
  const bounded = boundedFetch(fetch, MAX_DOCUMENT_BYTES)
  let refusal: ClientError | undefined
  const check = (addresses: readonly unknown[]): void => {
    for (const address of addresses) refusal ??= refusalOf(address, serverUrl)
    if (refusal !== undefined) throw refusal
  }
  const send: FetchLike = async (url, init) => {
    check(isOwnDocument(new URL(url), new URL(serverUrl)) ? [] : [url])
    const { response, text } = await answered(bounded, url, init).catch((cause: unknown) => {
      if (cause instanceof ClientError) refusal = cause
      throw cause
    })
    if (response.ok && (init?.method ?? 'GET') === 'GET') check(endpointsIn(documentIn(text)))
    return new Response(response.status === 204 ? null : text, response)
  }
  return {
    fetch: send,
    get refusal() {
      return refusal
    },
  }
}

/**
 * Reads a document exactly as the SDK does, without limits of depth and number, so that the checked value is the used
 * value.
 */
function documentIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The whole answer, in time. */
async function answered(
  fetch: FetchLike,
  url: string | URL,
  init: RequestInit | undefined,
): Promise<{ readonly response: Response; readonly text: string }> {
  const late = new AbortController()
  const timer = unref(setTimeout(() => late.abort(), ANSWER_MS))
  const signal = init?.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal
  try {
    const response = await fetch(url, { ...init, signal })
    return { response, text: await response.text() }
  } catch (cause) {
    if (!late.signal.aborted) throw cause
    const sentence = `The login at ${new URL(url).host} did not answer within ${ANSWER_MS / 1000} seconds; try again later.`
    throw new ClientError('AUTHORIZATION_FAILED', sentence, { cause })
  } finally {
    clearTimeout(timer)
  }
}

/** In a private network a server may be without TLS, and so are then the documents that it has itself. */
function isOwnDocument(url: URL, server: URL): boolean {
  return url.origin === server.origin && reachOf(server.hostname) !== REACH.internet
}

/** Checks the earlier discovery that an authorizer remembers. */
export function assertRemembered(state: OAuthDiscoveryState | undefined, serverUrl: string): void {
  if (state === undefined) return
  const { authorizationServerUrl, resourceMetadataUrl, authorizationServerMetadata } = state
  const remembered = [authorizationServerUrl, resourceMetadataUrl].filter((address) => address !== undefined)
  for (const address of [...remembered, ...endpointsIn(authorizationServerMetadata)]) {
    const refusal = refusalOf(address, serverUrl)
    if (refusal !== undefined) throw refusal
  }
}

function endpointsIn(metadata: unknown): readonly unknown[] {
  return isObject(metadata) ? ENDPOINTS.map((name) => metadata[name]).filter((address) => address !== undefined) : []
}

function refusalOf(address: unknown, serverUrl: string): ClientError | undefined {
  const text = String(address)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && isUsable(url, new URL(serverUrl))) return undefined
  const where = url === undefined ? 'something that is no address' : `${url.protocol}//${url.host}`
  return new ClientError('AUTHORIZATION_FAILED', `The server wants a login to use ${where}. ${RULE}`)
}

const RULE =
  'Only https addresses are used, and private ones only where the server is itself in that network; ask its operator.'

const REACH = { computer: 0, network: 1, internet: 2 } as const

/** A server may name addresses that it can reach itself. Without TLS only this computer is used. */
function isUsable({ protocol, hostname }: URL, server: URL): boolean {
  const reach = reachOf(hostname)
  const isSecure = protocol === 'https:' || (protocol === 'http:' && reach === REACH.computer)
  return isSecure && reach >= reachOf(server.hostname)
}

/** Whether a host of a URL is this computer, in a network that is not the internet, or anywhere. */
function reachOf(hostname: string): number {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
  const family = familyOf(host)
  if (family !== undefined) {
    if (family === 'ipv4' ? host.startsWith('127.') : host === '::1') return REACH.computer
    // Browsers have no such list. There a number counts as private, so that no server on the internet may name one.
    return (privateList()?.check(host, family) ?? true) ? REACH.network : REACH.internet
  }
  if (/(^|\.)localhost$/i.test(host)) return REACH.computer
  return !host.includes('.') || PRIVATE_NAME.test(host) ? REACH.network : REACH.internet
}

/** The family of an IP address, in the form that the URL parser gives to hosts. No name ends with a number. */
function familyOf(host: string): 'ipv4' | 'ipv6' | undefined {
  if (host.includes(':')) return 'ipv6'
  return /(^|\.)\d+$/.test(host) ? 'ipv4' : undefined
}

// Names that public DNS never has (RFC 6761, 6762, 8375, ICANN's "internal", and those of clusters and routers).
const PRIVATE_NAME = /\.(local|localdomain|svc|internal|home\.arpa|lan|intranet|corp|home)$/i

const PRIVATE_IPV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const

// IPv4 in IPv6, which may be any address: compatible, translated, NAT64, Teredo, 6to4. Then unique local; link-local; site-local; multicast.
const PRIVATE_IPV6 = [
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const

let list: BlockList | undefined

/** Undefined if the runtime has no such list. */
function privateList(): BlockList | undefined {
  const net = findNodeModule('node:net')
  if (list !== undefined || net === undefined) return list
  list = new net.BlockList()
  for (const [network, bits] of PRIVATE_IPV4) list.addSubnet(network, bits, 'ipv4')
  for (const [network, bits] of PRIVATE_IPV6) list.addSubnet(network, bits, 'ipv6')
  return list
}

export const NO_LOGIN = 'needs credentials and offers no login.'
export const NO_LOGIN_ADVICE = 'Give its entry an Authorization header.'

const LIMIT_MS = 5000
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
const FORMATS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/**
 * False if the server answers 401, and there is neither OAuth metadata nor the page at which servers of 2025-03-26
 * may have their login. True where that is not known.
 */
export async function offersLogin({ url, headers }: Pick<HttpAddress, 'url' | 'headers'>): Promise<boolean> {
  const signal = AbortSignal.timeout(LIMIT_MS)
  const within = sameOrigin(fetch)
  const send: FetchLike = (to, init) => within(to, { ...init, signal })
  const { fetch: fetchNamed } = authorizationFetch(url, send)
  try {
    const refused = await send(url, { method: 'POST', headers: { ...headers, ...FORMATS }, body: PING })
    await refused.body?.cancel()
    if (refused.status !== 401 || extractWWWAuthenticateParams(refused).resourceMetadataUrl !== undefined) return true
    const { resourceMetadata, authorizationServerMetadata } = await discoverOAuthServerInfo(url, {
      fetchFn: fetchNamed,
    })
    return (resourceMetadata ?? authorizationServerMetadata) !== undefined || (await hasLoginPage(url, send))
  } catch {
    return true
  }
}

async function hasLoginPage(url: string, send: FetchLike): Promise<boolean> {
  const { status, body } = await send(new URL('/authorize', url), { redirect: 'manual' })
  await body?.cancel()
  return status <= 400 // without parameters, a login page may well complain
}
