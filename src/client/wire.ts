/** The lower seams: how messages reach the server, over HTTP or by the lines of a process, with `echo` in place. */
import { type FetchLike, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import type { Address, CommandAddress, HttpAddress } from './address.ts'
import { type Authorizer, authorizedFetch } from './authorizedFetch.ts'
import { ChildTransport } from './childTransport.ts'
import { echoFetch } from './echoFetch.ts'
import { echoLines } from './echoLines.ts'
import { lineReader } from './lineReader.ts'
import type { Notice } from './notice.ts'
import { sameOrigin } from './sameOrigin.ts'
import type { ScopeOptions } from './scope.ts'
import { scopeFetch } from './scopeFetch.ts'

export interface WireOptions {
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
  const plain = sameOrigin(options.fetch ?? fetch)
  const known = authorizer === undefined ? withBearer(plain, bearer) : authorizedFetch(authorizer, address.url, plain)
  const transport = new StreamableHTTPClientTransport(new URL(address.url), {
    fetch: options.strictScope ? scopeFetch(echoFetch(known), refusing(onNotice)) : echoFetch(known),
    requestInit: { headers: { ...address.headers, ...options.headers } },
  })
  return {
    address,
    transport,
    isProcess: false,
    ended: () => undefined,
    endSession: () => transport.terminateSession(),
  }
}

function refusing(onNotice: WireOptions['onNotice']): ScopeOptions {
  return { onRefused: (refused) => onNotice?.({ kind: 'refused', refused }) }
}

function withBearer(fetch: FetchLike, bearer: WireOptions['bearer']): FetchLike {
  if (bearer === undefined) return fetch
  return async (url, init) => {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${typeof bearer === 'string' ? bearer : await bearer()}`)
    return fetch(url, { ...init, headers })
  }
}

function processWire(address: CommandAddress, { onNotice }: WireOptions): Wire {
  const transport = new ChildTransport(address, echoLines())
  transport.stderr.on(
    'data',
    lineReader((line) => onNotice?.({ kind: 'stderr', line })),
  )
  return {
    address,
    transport,
    isProcess: true,
    ended: () => transport.ended,
    endSession: () => Promise.resolve(),
  }
}
