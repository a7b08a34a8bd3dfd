/** The lower seams: how messages reach the server, over HTTP or by the lines of a process, with `echo` in place. */
import { type FetchLike, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import type { Address, CommandAddress, HttpAddress } from '../config/address.ts'
import { echoFetch } from '../echo/fetch.ts'
import { echoLines } from '../echo/lines.ts'
import type { Notice } from '../notice.ts'
import { scopeFetch } from '../scope/fetch.ts'
import type { ScopeOptions } from '../scope/layer.ts'
import { tasksFetch } from '../tasks/fetch.ts'
import { authorizedFetch, type Authorizer, setHeader } from './authorization.ts'
import { boundedFetch } from './boundedFetch.ts'
import { ChildTransport } from './child.ts'
import { lineReader } from './lineReader.ts'

/** A longer line on standard error is none that anybody reads. */
const MAX_LOG_LINE_BYTES = 64 * 1024

interface WireOptions {
  headers?: Readonly<Record<string, string>>
  bearer?: string | (() => string | Promise<string>)
  authorizer?: Authorizer
  fetch?: FetchLike
  strictScope?: boolean
  onNotice?: (notice: Notice) => void
}

export interface Wire {
  readonly address: Address
  readonly transport: Transport
  readonly isProcess: boolean
  /** How the server's process ended; undefined while it runs, and where there is none. */
  ended(): string | undefined
  /** Tells a server of the older era that its session is over. */
  endSession(): Promise<void>
}

export function openWire(address: Address, options: WireOptions): Wire {
  return 'url' in address ? httpWire(address, options) : processWire(address, options)
}

function httpWire(address: HttpAddress, options: WireOptions): Wire {
  const { authorizer, bearer, onNotice } = options
  const plain = boundedFetch(sameOrigin(options.fetch ?? fetch))
  const known = authorizer === undefined ? withBearer(plain, bearer) : authorizedFetch(authorizer, address.url, plain)
  const seamed = tasksFetch(echoFetch(known))
  const transport = new StreamableHTTPClientTransport(new URL(address.url), {
    fetch: options.strictScope ? scopeFetch(seamed, refusing(onNotice)) : seamed,
    requestInit: { headers: headersOf(address.headers, options.headers) },
  })
  return {
    address,
    transport,
    isProcess: false,
    ended: () => undefined,
    endSession: () => transport.terminateSession(),
  }
}

/** What is given last counts, however its name is spelled. */
function headersOf(...given: readonly (Readonly<Record<string, string>> | undefined)[]): Headers {
  const headers = new Headers()
  for (const [name, value] of given.flatMap((each) => Object.entries(each ?? {}))) setHeader(headers, name, value)
  return headers
}

function refusing(onNotice: WireOptions['onNotice']): ScopeOptions {
  return { onRefused: (refused) => onNotice?.({ kind: 'refused', refused }) }
}

function withBearer(fetch: FetchLike, bearer: WireOptions['bearer']): FetchLike {
  if (bearer === undefined) return fetch
  return async (url, init) => {
    const headers = new Headers(init?.headers)
    setHeader(headers, 'authorization', `Bearer ${typeof bearer === 'string' ? bearer : await bearer()}`)
    return fetch(url, { ...init, headers })
  }
}

function processWire(address: CommandAddress, { onNotice }: WireOptions): Wire {
  const transport = new ChildTransport(address, echoLines())
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

const MAX_HOPS = 3

/**
 * Follows redirects within one origin, such as from `/mcp` to `/mcp/`, and no others: headers, tokens and state belong
 * to the server that was named. Another origin gets nothing; its redirect comes back as the answer.
 */
export function sameOrigin(fetch: FetchLike): FetchLike {
  return async (input, init) => {
    let url = new URL(input)
    for (let hop = 0; ; hop++) {
      const response = await fetch(url, { ...init, redirect: 'manual' })
      const next = nextUrl(response, url)
      if (next === undefined || next.origin !== url.origin || hop === MAX_HOPS) return response
      await response.body?.cancel()
      url = next
    }
  }
}

/** Only 307 and 308 keep the method and the body; a call that became a GET would not be the same call. */
function nextUrl({ status, headers }: Response, from: URL): URL | undefined {
  const location = headers.get('location')
  if ((status !== 307 && status !== 308) || location === null || !URL.canParse(location, from)) return undefined
  return new URL(location, from)
}
