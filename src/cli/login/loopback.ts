/** The end of a login: a page on this machine to which the authorization server sends the browser back (RFC 8252). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { UnauthorizedError } from '@modelcontextprotocol/client'

export interface Loopback {
  readonly redirectUrl: string
  /** The query of the one visit that brings this state. Others are turned away. */
  visit(state: string, signal: AbortSignal): Promise<URLSearchParams>
  close(): void
}

const PATH = '/callback'
const LOGIN_MS = 5 * 60_000

/** Listens on the port of an earlier login where that is free: some servers know this client by its whole address. */
export async function openLoopback(earlier: string | undefined): Promise<Loopback> {
  const visits = new Map<string, (query: URLSearchParams) => void>()
  const server = createServer((request, response) => answer(request, response, visits))
  await listen(server, portOf(earlier)).catch(() => listen(server, 0))
  const { port } = server.address() as AddressInfo
  // A login that nobody finishes does not keep the program alive.
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

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
}

function answer(
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
