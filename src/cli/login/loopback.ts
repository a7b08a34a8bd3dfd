/** The redirect URL of a login: a page on the loopback interface to which the browser returns (RFC 8252). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { UnauthorizedError } from '@modelcontextprotocol/client'

export interface Loopback {
  readonly redirectUrl: string
  /** Resolves to the query of the visit with this state. Other visits get 404. */
  visit(state: string, signal: AbortSignal): Promise<URLSearchParams>
  close(): void
}

const PATH = '/callback'
const LOGIN_MS = 5 * 60_000

/** Listens on the port of an earlier login where it is free, because some servers compare the whole redirect URL. */
export async function openLoopback(earlier: string | undefined): Promise<Loopback> {
  const visits = new Map<string, (query: URLSearchParams) => void>()
  const server = createServer((request, response) => respond(request, response, visits))
  await listenOn(server, portOf(earlier)).catch(() => listenOn(server, 0))
  const { port } = server.address() as AddressInfo
  // A login that is not completed does not keep the process alive.
  server.unref()
  return {
    redirectUrl: `http://127.0.0.1:${port}${PATH}`,
    visit: (state, signal) =>
      new Promise((resolve, reject) => {
        server.ref()
        const limit = AbortSignal.any([signal, AbortSignal.timeout(LOGIN_MS)])
        limit.addEventListener('abort', () => reject(new UnauthorizedError('Nobody logged in.')), { once: true })
        visits.set(state, (query) => {
          visits.delete(state)
          server.unref()
          resolve(query)
        })
      }),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function portOf(url: string | undefined): number {
  return url !== undefined && URL.canParse(url) ? Number(new URL(url).port) : 0
}

function listenOn(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
}

function respond(
  request: IncomingMessage,
  response: ServerResponse,
  visits: ReadonlyMap<string, (query: URLSearchParams) => void>,
): void {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1')
  const visit = visits.get(url.searchParams.get('state') ?? '')
  const isOurs = request.method === 'GET' && url.pathname === PATH && visit !== undefined
  response.writeHead(isOurs ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(isOurs ? 'Done. You can close this window and go back to the terminal.\n' : 'Nothing here.\n')
  if (isOurs) visit(url.searchParams)
}
