/**
 * The server of an OpenAPI document, in the process of the gateway. Requests reach it as any server over HTTP, on
 * connections in memory. The headers of an entry and of a caller come with each request, and are passed on to the API.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http'
import { readFile, stat } from 'node:fs/promises'
import { duplexPair } from 'node:stream'
import type { buildConnector } from 'undici'
import { failureReason, type HttpAddress } from '../../client/index.ts'
import { errnoOf, sameOrigin } from '../../client/internal.ts'
import {
  MAX_DOCUMENT_BYTES,
  OpenApiError,
  openApiServer,
  type OpenApiServer,
  readBody,
} from '../../openapi/internal.ts'
import { newKey } from '../../state/seal/index.ts'
import type { Logger } from '../../server/index.ts'
import type { NodeHandler } from '../../server/internal.ts'
import { type BackendConfig, isTransportHeader } from '../config/index.ts'
import { BackendError } from '../errors.ts'

/** No address of a network: nothing resolves it. */
export const API_URL = 'http://openapi.invalid/mcp'

/** An answer is in its result as text and as structured content. Larger texts help no model. */
const RESULT_PER_ANSWER = 16

type ApiConfig = BackendConfig & { readonly address: HttpAddress & { readonly openapi: string } }

/** The faults of servers' documents: why one cannot be served, and which operations are left out. */
export async function checkDocuments(servers: readonly BackendConfig[]): Promise<readonly DocumentFault[]> {
  const faults = await Promise.all(servers.filter(({ settings }) => !settings.disabled).map(documentFaults))
  return faults.flat()
}

export interface DocumentFault {
  readonly isFatal: boolean
  readonly sentence: string
}

async function documentFaults(config: BackendConfig): Promise<readonly DocumentFault[]> {
  const api = ApiServer.of(config)
  try {
    await api?.load(AbortSignal.timeout(config.settings.startSeconds * 1000))
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    return [{ isFatal: true, sentence: error.message }]
  } finally {
    await api?.close()
  }
  return (api?.notes ?? []).map((note) => ({
    isFatal: false,
    sentence: `The server "${config.name}" is not served as its document says. ${note}`,
  }))
}

const silent = (): Logger => ({ debug() {}, info() {}, warn() {}, error() {} })

export class ApiServer {
  readonly #config: ApiConfig
  readonly #logger: () => Logger
  readonly #headers = new AsyncLocalStorage<Readonly<Record<string, string>>>()
  readonly #http = createHttpServer((req, res) => {
    const handler = this.#handler
    if (handler === undefined) res.writeHead(503).end()
    else this.#headers.run(headersForApi(req.headers), () => handler(req, res))
  })
  #served: OpenApiServer['server'] | undefined
  /** The operations that are not served, and the credentials that the entry lacks, as sentences. */
  notes: readonly string[] = []
  #handler: NodeHandler | undefined
  /** The last text of the document, and why it could not be served. */
  #text: string | undefined
  #fault: BackendError | undefined

  /** Undefined for a server of MCP. */
  static of(config: BackendConfig, logger = silent): ApiServer | undefined {
    const { address } = config
    if (!('openapi' in address) || address.openapi === undefined) return undefined
    return new ApiServer({ ...config, address: { ...address, openapi: address.openapi } }, logger)
  }

  private constructor(config: ApiConfig, logger: () => Logger) {
    this.#config = config
    this.#logger = logger
  }

  readonly connect: buildConnector.connector = (_, callback) => {
    const [ours, theirs] = duplexPair()
    // Both ends may be closed while the other one writes.
    for (const end of [ours, theirs]) end.on('error', () => {})
    this.#http.emit('connection', theirs)
    // The pool does not expect a connection before this returns.
    queueMicrotask(() => callback(null, ours as unknown as Parameters<typeof callback>[1] & object))
  }

  /** Reads the document, and serves it. A text that was refused before is not parsed again. */
  async load(signal: AbortSignal): Promise<void> {
    const text = await this.#read(signal)
    if (text === this.#text) {
      if (this.#fault !== undefined) throw this.#fault
      return
    }
    this.#text = text
    this.#fault = undefined
    const former = this.#served
    try {
      await this.#serve(text)
    } catch (error) {
      if (!(error instanceof OpenApiError)) throw error
      throw (this.#fault = this.#unserved(error.message, error))
    }
    if (former === undefined) return
    this.#logger().info({ server: this.#config.name }, 'The document of a server has changed, and is served.')
    // The end of its subscriptions lets the gateway read the lists of the new one.
    await former.drain()
  }

  /** Reads a served document again. If that fails, the former one stays. */
  async reread(): Promise<void> {
    if (this.#served === undefined) return
    const { name, settings } = this.#config
    await this.load(AbortSignal.timeout(settings.startSeconds * 1000)).catch((error: unknown) => {
      const why = error instanceof BackendError ? error.why : ''
      this.#logger().warn({ server: name, why }, 'The document of a server was not read again. The former one stays.')
    })
  }

  async close(): Promise<void> {
    await this.#served?.drain({ deadlineMs: 0 })
    this.#http.close()
  }

  async #serve(text: string): Promise<void> {
    const { name, address, settings } = this.#config
    const served = await openApiServer(text, {
      url: address.url,
      keys: newKey(), // it seals nothing that another process opens
      headers: () => this.#headers.getStore() ?? {},
      timeoutSeconds: settings.timeoutSeconds,
      maxResponseBytes: Math.ceil(settings.maxResultBytes / RESULT_PER_ANSWER),
    })
    this.#served = served.server
    this.notes = notesOf(this.#config, served)
    this.#handler = served.server.nodeHandler({ allowedHosts: [new URL(API_URL).hostname] })
    if (this.notes.length === 0) return
    const details = { server: name, count: this.notes.length, notes: this.notes.slice(0, MAX_LOGGED) }
    this.#logger().warn(details, 'A server is not served as its OpenAPI document says.')
  }

  async #read(signal: AbortSignal): Promise<string> {
    const { openapi } = this.#config.address
    if (!/^https?:/i.test(openapi)) return this.#readFile(openapi)
    const { startSeconds } = this.#config.settings
    try {
      const until = AbortSignal.any([signal, AbortSignal.timeout(startSeconds * 1000)])
      // Without the headers of the entry, which are for the API.
      const response = await sameOrigin(fetch)(openapi, { signal: until })
      const body = await readBody(response, MAX_DOCUMENT_BYTES)
      if (!response.ok) throw this.#unserved(`The address of its document answers HTTP ${response.status}.`)
      if (body === undefined) throw this.#unserved(`Its document is larger than ${MAX_DOCUMENT_BYTES} bytes.`)
      return body.toString()
    } catch (error) {
      if (error instanceof BackendError) throw error
      const { why = 'the connection is broken.' } = failureReason(error)
      throw this.#unserved(`Its document cannot be read: ${why}`, error)
    }
  }

  async #readFile(file: string): Promise<string> {
    try {
      if ((await stat(file)).size > MAX_DOCUMENT_BYTES)
        throw this.#unserved(`Its document is larger than ${MAX_DOCUMENT_BYTES} bytes.`)
      return await readFile(file, 'utf8')
    } catch (error) {
      if (error instanceof BackendError) throw error
      throw this.#unserved(`Its document cannot be read: ${file} (${errnoOf(error)}).`, error)
    }
  }

  #unserved(sentence: string, cause?: unknown): BackendError {
    return new BackendError('BACKEND_DOWN', this.#config.name, `cannot be served. ${sentence}`, { cause })
  }
}

const MAX_LOGGED = 20

function notesOf({ address, settings }: ApiConfig, { leftOut, credentials }: OpenApiServer): readonly string[] {
  const { headers = {}, url } = address
  const sendsNone = Object.keys(headers).length === 0 && !settings.forwardAuthorization && !url.includes('?')
  const asks = `Its entry has no credentials, and the document asks for: ${credentials.join('; ')}.`
  return [
    ...(sendsNone && credentials.length > 0 ? [asks] : []),
    ...leftOut.map(({ operation, why }) => `${operation} is no tool. ${why}`),
  ]
}

function headersForApi(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const own = Object.entries(headers).filter(([name, value]) => value !== undefined && !isTransportHeader(name))
  return Object.fromEntries(own.map(([name, value]) => [name, String(value)]))
}
