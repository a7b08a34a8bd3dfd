/** One HTTP request on a new connection to one instance of the server, and its headers. No redirects, no keep-alive, no decompression. */
import { lookup as systemLookup } from 'node:dns/promises'
import {
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { failureReason } from '../../client/index.ts'
import type { ProbeReply } from './reply.ts'
import { hasEnvelope, MODERN_VERSION, requestHeaders } from '../../protocol/index.ts'
import { ProbeError } from '../errors.ts'
import type { AnswerMessage, Notification, Request } from './messages.ts'
import { HIDDEN } from '../secrets.ts'

interface HttpRequestOptions {
  readonly instance: ProbedInstance
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Aborts the request while it connects, waits or reads. */
  readonly signal: AbortSignal
}

/** Resolves when the response headers have arrived. Rejects if there is no response. */
export function sendHttp({ instance, method, headers, body, signal }: HttpRequestOptions): Promise<IncomingMessage> {
  const { url, address } = instance
  const options: RequestOptions = {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) },
    // A connection pool would hide whether the server accepts a new connection.
    agent: false,
    signal,
    ...(address !== undefined && { lookup: alwaysAt(address) }),
  }
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, resolve)
    sent.on('error', reject)
    // A connection that is upgraded to another protocol closes without an error. After a response this has no effect.
    sent.on('close', () => reject(new Error('The connection was closed without an answer.')))
    sent.end(body)
  })
}

function alwaysAt(address: string): LookupFunction {
  const family = isIP(address)
  return (_, { all }, callback) => {
    if (all) callback(null, [{ address, family }])
    else callback(null, address, family)
  }
}

/** One instance of the server: its URL, and its IP address if the host name has several. */
export interface ProbedInstance {
  readonly url: URL
  /** The IP address to connect to. @default the result of the host name's lookup */
  readonly address?: string
}

/** Resolves a host name to IP addresses. */
export type Lookup = (host: string) => Promise<readonly string[]>

/** The address of the instance, as shown to people. It omits the query, which may contain a secret. */
export function instanceText({ url, address }: ProbedInstance): string {
  return url.origin + url.pathname + (address === undefined ? '' : ` at ${address}`)
}

/** One instance for each IP address of the host name; empty if it has only one address. */
export async function instancesOf(url: URL, lookup: Lookup = lookupBySystem): Promise<readonly ProbedInstance[]> {
  const host = hostnameOf(url)
  if (isIP(host) !== 0 || host === 'localhost') return []
  const found = await lookup(host).catch(() => [])
  // One machine often has both an IPv4 and an IPv6 address, so only addresses of one family count as several machines.
  const family = isIP(found[0] ?? '')
  const sameFamily = [...new Set(found.filter((address) => isIP(address) === family))]
  return sameFamily.length < 2 ? [] : sameFamily.map((address) => ({ url, address }))
}

/** The same instance, at the first IP address of its host name. */
export async function locate(instance: ProbedInstance, lookup: Lookup): Promise<ProbedInstance> {
  const host = hostnameOf(instance.url)
  const [address] = isIP(host) === 0 ? await lookup(host) : []
  return address === undefined ? instance : { ...instance, address }
}

function hostnameOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

async function lookupBySystem(host: string): Promise<readonly string[]> {
  return (await systemLookup(host, { all: true })).map(({ address }) => address)
}

/** The connection existed and broke. */
const CONNECTION_BROKEN: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/** The reply for a request that failed without an HTTP response. */
export function disconnectedBy(error: unknown): ProbeReply {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code.startsWith('HPE_'))
    return { kind: 'disconnected', why: 'what is there does not speak HTTP', wasConnected: true }
  const why = failureReason(error).why?.replace(/\.$/, '')
  return {
    kind: 'disconnected',
    why: why ?? 'the connection broke off',
    wasConnected: CONNECTION_BROKEN.has(code) || why === undefined,
  }
}

export type Headers = Readonly<Record<string, string>>

const POST_HEADERS: Headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const USER_AGENT: Headers = { 'user-agent': 'pannier-probe' }
/** A small compressed body can expand beyond every limit. */
const NO_COMPRESSION: Headers = { 'accept-encoding': 'identity' }

/** The headers of a message. Headers of the stateless revision mirror parts of the body. */
export function messageHeaders(message: Request | Notification | AnswerMessage): Headers {
  return 'method' in message && message.params !== undefined && hasEnvelope(message.params)
    ? { ...POST_HEADERS, ...requestHeaders(message.method, message.params, MODERN_VERSION) }
    : POST_HEADERS
}

/** Adds the given headers. Headers that the protocol needs take precedence. */
export function withGivenHeaders(given: Headers, needed: Headers): Headers {
  const lowerCased = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  return { ...USER_AGENT, ...Object.fromEntries(lowerCased), ...NO_COMPRESSION, ...needed }
}

/** The same header names with hidden values, for the trace. Short values are hidden, too. */
export function hiddenValues(given: Headers): Headers {
  return Object.fromEntries(Object.keys(given).map((name) => [name, HIDDEN]))
}

/** Throws if a header cannot be sent. The message names the header, never its value. */
export function assertSendable(headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) {
    // With a given session id, no request would be one without a session.
    if (name.toLowerCase() === 'mcp-session-id') {
      throw new ProbeError(
        'PROBE_OPTION_INVALID',
        'Leave out the header Mcp-Session-Id: the probe begins its own sessions.',
      )
    }
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch {
      throw new ProbeError('PROBE_OPTION_INVALID', `The header ${JSON.stringify(name)} cannot be sent as it is given.`)
    }
  }
}
