/** A Pannier server in Hono. Start it with `node --conditions=pannier-source examples/mount/hono.ts`. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { cloneRawRequest } from 'hono/request'
import type { Server } from 'pannier/server'
import { restaurant } from './restaurant.ts'

// #region mount
/** `c.req.raw` is the web-standard request, and `fetch` answers it. */
export function mount(app: Hono, server: Server): void {
  app.all('/mcp', (c) => server.fetch(c.req.raw))
}
// #endregion mount

// #region parsed
/** A request can be read once. Where a middleware has called `c.req.json()`, pass on a copy. */
export function mountParsed(app: Hono, server: Server): void {
  app.all('/mcp', async (c) => server.fetch(await cloneRawRequest(c.req)))
}
// #endregion parsed

if (import.meta.main) {
  const app = new Hono()
  app.get('/', (c) => c.text('Tables until ten.'))
  const server = restaurant()
  mount(app, server)

  const port = Number(process.env['PORT'] ?? 3000)
  const http = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, (address) => {
    console.log(`Listening at http://127.0.0.1:${address.port}/mcp`)
  })
  // Calls under way finish, or another instance continues them, before the process ends.
  process.once('SIGTERM', () => void server.drain().then(() => http.close()))
}
