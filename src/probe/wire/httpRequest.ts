/** One HTTP request on a connection of its own. Nothing is followed, kept alive or decompressed. */
import { lookup as systemLookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { failureReason } from '../../client/index.ts'
import type { Heard } from './reply.ts'

interface HttpAsk {
  readonly place: Place
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Ends the request, whatever it is at: connecting, waiting, reading. */
  readonly signal: AbortSignal
}

/** Gives the answer as soon as its head is there. Rejects where there is none. */
export function sendHttp({ place, method, headers, body, signal }: HttpAsk): Promise<IncomingMessage> {
  const { url, address } = place
  const options: RequestOptions = {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) },
    // A pool would hide whether the server minds a new connection.
    agent: false,
    signal,
    ...(address !== undefined && { lookup: alwaysAt(address) }),
  }
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, resolve)
    sent.on('error', reject)
    // A connection that is switched to another protocol is closed without an error. Behind an answer this says nothing.
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

/** Where requests go: a URL, and where its name has several addresses, which of them. */

export interface Place {
  readonly url: URL
  /** The address to connect to in place of the one that the name would give. */
  readonly address?: string
}

/** The addresses of a name. */
export type Lookup = (host: string) => Promise<readonly string[]>

/** Without the query, which may hold a secret. */
export function placeText({ url, address }: Place): string {
  return url.origin + url.pathname + (address === undefined ? '' : ` at ${address}`)
}

/** A name that has several addresses, once for each of them; else nothing. */
export async function addressesOf(url: URL, lookup: Lookup = ofTheSystem): Promise<readonly Place[]> {
  const host = hostOf(url)
  if (isIP(host) !== 0 || host === 'localhost') return []
  const found = await lookup(host).catch(() => [])
  // One machine often has an address of either kind, so only those of one kind are several machines.
  const kind = isIP(found[0] ?? '')
  const alike = [...new Set(found.filter((address) => isIP(address) === kind))]
  return alike.length < 2 ? [] : alike.map((address) => ({ url, address }))
}

/** The same place, at the first address of its name. */
export async function locate(place: Place, lookup: Lookup): Promise<Place> {
  const host = hostOf(place.url)
  const [address] = isIP(host) === 0 ? await lookup(host) : []
  return address === undefined ? place : { ...place, address }
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

async function ofTheSystem(host: string): Promise<readonly string[]> {
  return (await systemLookup(host, { all: true })).map(({ address }) => address)
}

/** Somebody was there, and is no more. */
const CUT: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/** Why there is no answer over HTTP. */
export function goneBy(error: unknown): Heard {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code.startsWith('HPE_')) return { kind: 'gone', why: 'what is there does not speak HTTP', wasThere: true }
  const why = failureReason(error).why?.replace(/\.$/, '')
  return { kind: 'gone', why: why ?? 'the connection broke off', wasThere: CUT.has(code) || why === undefined }
}
