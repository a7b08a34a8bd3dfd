/** One HTTP request on a new connection to one instance of the server. No redirects, no keep-alive, no decompression. */
import { lookup as systemLookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { failureReason } from '../../client/index.ts'
import type { ProbeReply } from './reply.ts'

interface HttpRequestOptions {
  readonly instance: ProbedInstance
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Aborts the request while it connects, waits or reads. */
  readonly signal: AbortSignal
}

/** Resolves when the response headers have arrived. Rejects where there is no response. */
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

/** One instance of the server: its URL, and which IP address where the host name has several. */
export interface ProbedInstance {
  readonly url: URL
  /** The IP address to connect to. @default what the host name resolves to */
  readonly address?: string
}

/** Resolves a host name to IP addresses. */
export type Lookup = (host: string) => Promise<readonly string[]>

/** The instance for people, without the query, which may hold a secret. */
export function instanceText({ url, address }: ProbedInstance): string {
  return url.origin + url.pathname + (address === undefined ? '' : ` at ${address}`)
}

/** One instance for each IP address of the host name; none where it has only one address. */
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
