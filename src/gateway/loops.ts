/**
 * Loop detection between gateways, as the Via header does for proxies (RFC 9110, 7.6.3).
 *
 * - Each gateway has a random name, which its workers share. Each HTTP request names the gateways that it came through.
 *   A gateway that finds its own name answers 508.
 * - Lists are answered from a cache and never travel around a ring. So a gateway that lists its tools to another
 *   gateway first asks its own servers in the name of both. A 508 from one of the servers is an answer: one entry of a
 *   ring stays down.
 * - Programs get the names of the gateways above them in a variable, with the files that these serve. A gateway whose
 *   own file is among them does not start.
 */
import { createHash, randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Address } from '../client/index.ts'
import { type HeaderReader, type Json, MODERN_VERSION, requestHeaders } from '../protocol/index.ts'
import {
  type Admission,
  type EndpointRequest,
  type HostSink,
  type HttpReply,
  refusal,
  type RequestHandler,
} from '../server/internal.ts'

export const VIA_HEADER = 'pannier-via'
/** RFC 5842, Loop Detected. */
export const LOOP_STATUS = 508

export interface ViaOptions {
  /** The name that the workers of a gateway share. @default a random one */
  readonly id?: string | undefined
  /** The served file, if any. */
  readonly file?: string | undefined
}

/** The identity of a gateway in loop detection. */
export class Via {
  readonly #id: string
  /** The variable for programs. */
  readonly env: Readonly<Record<string, string>>
  /** The header of requests: this gateway, and those that started it. */
  readonly header: string

  /** Throws if a gateway that serves the same file has started this one. */
  constructor({ id = newGatewayId(), file }: ViaOptions = {}) {
    const started = startedBy(file)
    this.#id = id
    this.env = { [VARIABLE]: [...started, id, ...(file === undefined ? [] : [nameOf(file)])].join(',') }
    this.header = [...new Set([id, ...started.filter((name) => !name.startsWith(FILE))])].join(', ')
  }

  /** Whether a request with this header has not come through this gateway before. */
  admits(header: string): boolean {
    return !namesIn(header).includes(this.#id)
  }
}

export function newGatewayId(): string {
  return randomBytes(9).toString('base64url')
}

/** The `Via` names of a request, for a request that is sent on its behalf. The sender adds its own name. */
export function forwardedVia(header: HeaderReader | undefined): Readonly<Record<string, string>> | undefined {
  const via = header?.(VIA_HEADER)
  return via === undefined ? undefined : { [VIA_HEADER]: via }
}

const LOOP = refusal(
  LOOP_STATUS,
  'This request has come through this gateway before: an entry of it, or of a gateway behind it, leads back to it.',
)

export interface LoopGuardOptions {
  readonly via: Via
  readonly inner: RequestHandler
  /** The addresses of the servers whose tools are listed here, with their credentials. */
  readonly listed: () => readonly Promise<Address>[]
}

/** Answers 508 to requests in a loop, and to gateways that would be listed their own tools. */
export class LoopGuard implements RequestHandler {
  readonly #options: LoopGuardOptions

  constructor(options: LoopGuardOptions) {
    this.#options = options
  }

  handle(request: EndpointRequest, admission: Admission, sink: HostSink): Promise<HttpReply | undefined> {
    const { via, inner } = this.#options
    const header = request.header(VIA_HEADER)
    if (header === undefined) return inner.handle(request, admission, sink)
    if (!via.admits(header)) return Promise.resolve(LOOP)
    if (request.header('mcp-method') !== LIST) return inner.handle(request, admission, sink)
    return this.#loopOf(header).catch(() => inner.handle(request, admission, sink))
  }

  /** Resolves with the 508 reply if a server leads back to the sender; rejects if none does. */
  async #loopOf(header: string): Promise<HttpReply> {
    const through = `${header}, ${this.#options.via.header}`
    await Promise.any(this.#options.listed().map(async (address) => assertLoop(await address, through)))
    return LOOP
  }
}

const LIST = 'tools/list'
/** Timeout for a server to report a loop. */
const LOOP_CHECK_MS = 2000

/** Resolves if the server at this address answers 508; rejects otherwise. */
async function assertLoop(address: Address, through: string): Promise<void> {
  if (!('url' in address)) throw new TypeError('Programs are checked when they start.')
  if ('openapi' in address) throw new TypeError('An API is no server of MCP.')
  const params: Json = {}
  const headers = {
    ...address.headers,
    ...requestHeaders(LIST, params, MODERN_VERSION),
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    [VIA_HEADER]: through,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: LIST, params })
  const signal = AbortSignal.timeout(LOOP_CHECK_MS)
  // A redirect would take the headers, with their credentials, to an address of the server's choice.
  const response = await fetch(address.url, { method: 'POST', headers, body, signal, redirect: 'manual' })
  await response.body?.cancel()
  if (response.status !== LOOP_STATUS) throw new TypeError('The server answered.')
}

const VARIABLE = 'PANNIER_GATEWAYS'
const STARTED_BY_ITSELF =
  'This gateway was started by one that serves the same file. Remove the entry that starts it, or name another file.'
const TOO_DEEP = 'Too many gateways have started each other. Remove the entry that starts this one.'
/** Maximum number of names: gateways that start each other, each with its file. */
const MAX_STARTED = 16
/** The name of a gateway, or of a file that one serves. */
const NAME = /^(?:[\w-]{12}|file-[0-9a-f]{16})$/
const FILE = 'file-'

/** The names in the variable, or in a header. */
function namesIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => NAME.test(name))
}

/** The gateways and files that started this process. Throws if it must not be a gateway for this file. */
export function startedBy(file: string | undefined): readonly string[] {
  const started = namesIn(process.env[VARIABLE] ?? '')
  if (file !== undefined && started.includes(nameOf(file))) throw new TypeError(STARTED_BY_ITSELF)
  if (started.length >= MAX_STARTED) throw new TypeError(TOO_DEEP)
  return started
}

/** Whether a program's output shows that it exited as a gateway behind itself. */
export function saysBehindItself(printed: readonly string[]): boolean {
  const text = printed.join(' ').replace(/\s+/g, ' ')
  return text.includes(STARTED_BY_ITSELF) || text.includes(TOO_DEEP)
}

function nameOf(file: string): string {
  const path = resolve(file)
  let real = path
  try {
    real = realpathSync(path)
  } catch {
    // The file may be gone by now.
  }
  return `${FILE}${createHash('sha256').update(real).digest('hex').slice(0, 16)}`
}
