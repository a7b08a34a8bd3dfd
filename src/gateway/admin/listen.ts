/** The admin endpoint of a gateway: its health and its servers, read-only, and the console; and the probes of an orchestrator. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ConsoleAccessOptions, ConsoleAccess, isSame } from './console/access.ts'
import { valueOf } from './console/refused.ts'
import { ConsoleRoutes } from './console/routes.ts'
import type { AskConsole } from './console/types.ts'
import { createHostGuard, isLocalHost, type NodeHandler, openListener, pathOf } from '../../server/internal.ts'
import type { Json } from '../../protocol/index.ts'
import { escapeUnprintable } from '../../state/internal.ts'
import type { AdminSettings } from '../config/index.ts'
import type { MetricsText } from '../telemetry/prometheus.ts'

export interface AdminListening {
  readonly url: string
  /** The address of the console, with its token; undefined where it is not served. */
  readonly console: string | undefined
  close(): Promise<void>
}

export interface AdminListenOptions {
  /** Renders `/metrics`, as `prometheusMetrics` does. Without it there is no such page. */
  readonly metrics?: MetricsText | undefined
}

/** The pages, as `reportOf` produces them. */
export interface AdminPages extends AdminListenOptions {
  readonly health: () => Json | Promise<Json>
  readonly servers: () => readonly Json[] | Promise<readonly Json[]>
  readonly ask: AskConsole
}

export async function listenAdmin(
  { host, port, token, login }: AdminSettings,
  reports: AdminPages,
): Promise<AdminListening> {
  const guard = createHostGuard({})
  const isLocal = isLocalHost(host)
  let console = login?.url && `${login.url.replace(/\/$/, '')}/console`
  const logIn = async (step: Parameters<NonNullable<ConsoleAccessOptions['login']>>[0]): Promise<Json> =>
    valueOf(await reports.ask({ kind: 'login', ...step, console: console ?? '' }))
  const access = new ConsoleAccess({ isLocal, login: login && logIn })
  const pages = new ConsoleRoutes(reports.ask, access)
  const listener = await openListener({ host, port, path: '/health' }, (req, res) => {
    const header = (name: string): string | undefined => headerOf(req, name)
    const refused = guard(header, isLocal)
    if (refused !== undefined) return reply(res, 403, { error: 'This address is for this machine alone.' })
    if (access.isOpen && pages.has(pathOf(req)))
      return void pages.serve(req, res).catch(() => reply(res, 500, { error: 'The page could not be read.' }))
    if (token !== undefined && !isSame(header('authorization') ?? '', `Bearer ${token}`))
      return reply(res, 401, { error: 'Send the token of the admin address as a bearer token.' })
    if (req.method !== 'GET') return reply(res, 405, { error: 'Nothing can be changed here.' })
    void answer(res, pathOf(req), reports).catch(() => reply(res, 500, { error: 'This could not be read.' }))
  })
  access.listensAt(listener.port)
  const url = new URL('/', listener.url).href
  console ??= `${url}console`
  const close = (): Promise<void> => {
    pages.close()
    return listener.close()
  }
  const address = access.token === undefined ? console : `${url}console?token=${access.token}`
  return { url, console: access.isOpen ? address : undefined, close }
}

/**
 * Serves `/health` and `/health/live` at the clients' address, for an orchestrator, which has no token and no access to the
 * admin address. They reveal nothing but whether the gateway is ready and whether it answers.
 */
export function withProbes(serve: NodeHandler, isReady: () => boolean): NodeHandler {
  return (req, res) => {
    const path = req.method === 'GET' || req.method === 'HEAD' ? pathOf(req) : undefined
    if (path === '/health/live') return reply(res, 200, { live: true })
    if (path !== '/health') return serve(req, res)
    const ready = isReady()
    reply(res, ready ? 200 : 503, { live: true, ready })
  }
}

async function answer(res: ServerResponse, path: string, { health, servers, metrics }: AdminPages): Promise<void> {
  switch (path) {
    case '/health': {
      const found = await health()
      return reply(res, found['ready'] === true ? 200 : 503, found)
    }
    case '/servers':
      return reply(res, 200, { servers: await servers() })
    case '/metrics':
      if (metrics === undefined) return reply(res, 501, { error: NO_METRICS })
      return replyText(res, metrics)
    default:
      return reply(res, 404, { error: 'There are /health, /servers and /metrics.' })
  }
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

function reply(res: ServerResponse, status: number, body: object): void {
  const text = `${escapeUnprintable(JSON.stringify(body, null, 2))}\n` // before the head, so that a failure can still be answered with an error
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  res.end(text)
}

const NO_METRICS =
  'Metrics need @opentelemetry/exporter-prometheus and @opentelemetry/sdk-metrics, installed beside pannier.'

async function replyText(res: ServerResponse, textOf: MetricsText): Promise<void> {
  const text = await textOf().catch(() => undefined)
  if (text === undefined) return reply(res, 500, { error: 'The metrics could not be read.' })
  res.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' })
  res.end(text)
}
