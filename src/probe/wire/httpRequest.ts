/** One HTTP request on a connection of its own. Nothing is followed, kept alive or decompressed. */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Place } from './place.ts'

export interface HttpAsk {
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
