import type { Server as HttpServer } from 'node:http'
import { Server as NetServer } from 'node:net'

const SWEEP_MS = 50

/**
 * Takes no new connections; resolves when the last one is gone. An open one may bring another request, whose answer says
 * `connection: close`, and is ended when it has nothing under way `idleMs` later. At 0 the idle ones end at once, also
 * one whose next request is already on its way.
 */
export async function closeServer(server: HttpServer, idleMs = 0): Promise<void> {
  if (!server.listening) return
  // Not the close of `node:http`, which always ends the idle connections at once.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  if (idleMs === 0) server.closeIdleConnections()
  const sweep = setInterval(() => server.closeIdleConnections(), idleMs || SWEEP_MS)
  await closed
  clearInterval(sweep)
}
