/**
 * Opens the transport to a server, with the functions that belong below the SDK's transports: `scope`, `tasks` and `echo` around `fetch`, or `echo` on the lines of a child process.
 */
import type { FetchLike, Transport } from '@modelcontextprotocol/client'
import type { Address, CommandAddress, HttpAddress } from './config/address.ts'
import { echoFetch } from './echo/fetch.ts'
import { echoLines } from './echo/layer.ts'
import type { Notice } from './notice.ts'
import { retryAfterFetch } from './retries.ts'
import { scopeFetch } from './scope/fetch.ts'
import { tasksFetch } from './tasks/fetch.ts'
import { StdioTransport } from './transports/stdio.ts'
import { type HttpOptions, httpTransport, sseTransport } from './transports/http.ts'
import { lineReader } from './transports/lineReader.ts'
import type { ConnectWay } from './ways.ts'

export interface OpenTransportOptions extends Omit<HttpOptions, 'wrapFetch'> {
  strictScope?: boolean
  /** How long opening the stream of HTTP+SSE may take. */
  connectTimeoutMs: number
  onNotice?: (notice: Notice) => void
}

export interface OpenTransport {
  readonly address: Address
  readonly transport: Transport
  readonly isProcess: boolean
  /** How the server's process or stream ended, as the end of a sentence; undefined while it is there. */
  ended(): string | undefined
  /** Ends the session of a session-era server, if there is one. */
  endSession(): Promise<void>
}

export function openTransport(address: Address, way: ConnectWay, options: OpenTransportOptions): OpenTransport {
  if (!('url' in address)) return openChild(address, options)
  return way === 'sse' ? openSse(address, options) : openHttp(address, options)
}

/** All messages share one stream, so `strictScope` cannot tell them apart. */
function openSse(address: HttpAddress, options: OpenTransportOptions): OpenTransport {
  const wrapFetch = (inner: FetchLike): FetchLike => echoFetch(inner, { isOneConnection: true })
  const transport = sseTransport(address, { ...options, wrapFetch, startTimeoutMs: options.connectTimeoutMs })
  return {
    address,
    transport,
    isProcess: false,
    ended: () => (transport.isCut ? 'the stream of the server has ended.' : undefined),
    endSession: () => Promise.resolve(),
  }
}

function openHttp(address: HttpAddress, options: OpenTransportOptions): OpenTransport {
  const wrapFetch = (inner: FetchLike): FetchLike => wrapped(inner, options)
  const transport = httpTransport(address, { ...options, wrapFetch })
  return {
    address,
    transport,
    isProcess: false,
    ended: () => undefined,
    endSession: () => transport.terminateSession(),
  }
}

function wrapped(inner: FetchLike, { strictScope, onNotice }: OpenTransportOptions): FetchLike {
  const fetch = retryAfterFetch(tasksFetch(echoFetch(inner)))
  if (!strictScope) return fetch
  return scopeFetch(fetch, { onRefused: (refused) => onNotice?.({ kind: 'refused', refused }) })
}

/** A longer line on standard error is dropped. */
const MAX_LOG_LINE_BYTES = 64 * 1024

function openChild(address: CommandAddress, { onNotice }: OpenTransportOptions): OpenTransport {
  const transport = new StdioTransport(address, echoLines())
  transport.stderr.on(
    'data',
    lineReader((line) => onNotice?.({ kind: 'stderr', line }), MAX_LOG_LINE_BYTES),
  )
  return {
    address,
    transport,
    isProcess: true,
    ended: () => transport.ended,
    endSession: () => Promise.resolve(),
  }
}
