/**
 * The console over HTTP.
 *
 * - `GET /console`: the page; with `?token=` it sets the cookie and leads to the address without the token
 * - `GET /console/login`: begins and ends a login, where the settings have one
 * - `GET /console/assets/…`: its scripts and styles
 * - `GET /console/api/me`: `ConsoleVisitor`, who looks and what they may do
 * - `GET /console/api/stream?topic=NAME&…`: server-sent events, each a `TopicChanges`. Further members of the query go to the topic.
 * - `POST /console/api/act`: `{ action, params }`, a change; the result of the action, or `{ error }` with a sentence
 *
 * To add a topic or an action: an entry in `topics` or `actions` of `desk.ts`, which says who may have it and whether the items of all
 * processes are joined. The page reads it with `useTopic(name, query)` of `src/console/topic.ts`, and acts with `act(name, params)` of
 * `src/console/api.ts`. A page is a file of `src/console/pages`, which `src/console/routes.ts` lists; `linkTo` of `src/console/address.ts` makes links to it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isObject, type Json, parseJson } from '../../../protocol/index.ts'
import { pathOf } from '../../../server/internal.ts'
import { escapeUnprintable } from '../../../state/internal.ts'
import { type ConsoleAccess, isOwnOrigin } from './access.ts'
import { type ConsoleFiles, consoleFiles } from './assets.ts'
import { RefusedError, valueOf } from './refused.ts'
import { streamTopic } from './stream.ts'
import type { AskConsole, ConsoleVisitor, ConsoleViewer } from './types.ts'

const PATH = '/console'
/** No script of another place, none inline, no frame. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}
const MAX_BODY_BYTES = 1024 * 1024
/** How many pages may be open at a time. */
const MAX_STREAMS = 100

export class ConsoleRoutes {
  readonly #ask: AskConsole
  readonly #access: ConsoleAccess
  readonly #files: ConsoleFiles = consoleFiles()
  readonly #closed = new AbortController()
  #streams = 0

  constructor(ask: AskConsole, access: ConsoleAccess) {
    this.#ask = ask
    this.#access = access
  }

  has(path: string): boolean {
    return path === PATH || path.startsWith(`${PATH}/`)
  }

  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value)
    const path = pathOf(req).slice(PATH.length + 1)
    if (path.startsWith('api/')) return this.#api(req, res, path.slice('api/'.length))
    if (req.method !== 'GET' && req.method !== 'HEAD') return reply(res, 405, { error: 'This is a page.' })
    const token = queryOf(req).get('token')
    if (path === '' && token !== null) return this.#enter(res, token)
    if (path === 'login') return this.#logIn(req, res)
    const file = await this.#files(path)
    if (file === undefined) return reply(res, 404, { error: 'The console has no such page.' })
    // Names of assets have their digests.
    const caching = path === '' ? 'no-cache' : 'private, max-age=31536000, immutable'
    res.writeHead(200, { 'content-type': file.type, 'cache-control': caching }).end(file.bytes)
  }

  /** Ends the streams of open pages. */
  close(): void {
    this.#closed.abort()
  }

  #enter(res: ServerResponse, token: string): void {
    const cookie = this.#access.cookieFor(token)
    const headers = { location: PATH, 'cache-control': 'no-store', ...(cookie && { 'set-cookie': cookie }) }
    res.writeHead(303, headers).end()
  }

  async #logIn(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { url = '' } = req
    const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : ''
    const step = this.#access.logIn((key) => oneOf(req.headers[key]), query)
    const page = await step?.catch((error: unknown) => {
      if (!(error instanceof RefusedError)) throw error
      reply(res, error.refusal.status, { error: error.refusal.error })
    })
    if (res.headersSent) return
    if (page === undefined) return reply(res, 404, { error: 'Nobody can log in here.' })
    const { status, headers } = page as { readonly status: number; readonly headers: Record<string, string> }
    res.writeHead(status, headers).end()
  }

  async #api(req: IncomingMessage, res: ServerResponse, name: string): Promise<void> {
    const header = (key: string): string | undefined => oneOf(req.headers[key])
    try {
      const viewer = await this.#access.viewer(header)
      if (viewer === undefined) return reply(res, 401, { error: STRANGER, hasLogin: this.#access.hasLogin })
      if (name === 'me' && req.method === 'GET') return reply(res, 200, visitorOf(viewer))
      if (name === 'stream' && req.method === 'GET') return await this.#stream(req, res, viewer)
      if (name !== 'act' || req.method !== 'POST') return reply(res, 404, { error: 'The console has no such address.' })
      if (!isOwnOrigin(header)) return reply(res, 403, { error: 'A change has to come from the page of the console.' })
      return reply(res, 200, await this.#act(req, viewer))
    } catch (error) {
      if (res.headersSent) return void res.end()
      const refused = error instanceof RefusedError ? error.refusal : { status: 500, error: FAILED }
      reply(res, refused.status, { error: refused.error })
    }
  }

  async #stream(req: IncomingMessage, res: ServerResponse, viewer: ConsoleViewer): Promise<void> {
    const { topic = '', ...query } = Object.fromEntries(queryOf(req))
    if (this.#streams >= MAX_STREAMS) throw new RefusedError(503, 'Too many pages of the console are open.')
    const read = async (): Promise<Json> => valueOf(await this.#ask({ kind: 'read', topic, query, viewer }))
    const first = await read() // so that a refusal is no stream
    let isFirst = true
    this.#streams += 1
    try {
      await streamTopic(
        res,
        () => {
          if (!isFirst) return read()
          isFirst = false
          return Promise.resolve(first)
        },
        this.#closed.signal,
      )
    } finally {
      this.#streams -= 1
    }
  }

  async #act(req: IncomingMessage, viewer: ConsoleViewer): Promise<Json> {
    const body = parseJson(await bodyOf(req), Infinity)
    const { action, params } = isObject(body) ? body : {}
    if (typeof action !== 'string') throw new RefusedError(400, 'A change has an "action".')
    return valueOf(await this.#ask({ kind: 'act', action, params: isObject(params) ? params : {}, viewer }))
  }
}

const FAILED = 'This could not be read. The log of the gateway says why.'
const STRANGER = 'Open the address that the gateway printed at its start: it has the token of the console.'

function visitorOf({ role, name, principal }: ConsoleViewer): ConsoleVisitor {
  return { role, name, hasLogin: principal !== undefined }
}

function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  return new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length + 1))
}

function oneOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) throw new RefusedError(413, 'This is too long.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function reply(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  res.end(escapeUnprintable(JSON.stringify(body)))
}
