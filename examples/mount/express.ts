/** A Pannier server in Express. Start it with `node --conditions=pannier-source examples/mount/express.ts`. */
import type { AddressInfo } from 'node:net'
import express, { type Express } from 'express'
import type { Server } from 'pannier/server'
import { restaurant } from './restaurant.ts'

// #region mount
/** With or without `express.json()` before it: the handler takes a parsed body, and reads one that is not parsed. */
export function mount(app: Express, server: Server): void {
  app.all('/mcp', server.nodeHandler())
}
// #endregion mount

if (import.meta.main) {
  const app = express()
  app.get('/', (_, res) => void res.send('Tables until ten.'))
  const server = restaurant()
  mount(app, server)

  // #region serve
  const http = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
    console.log(`Listening at http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`)
  })
  // Calls under way finish, or another instance continues them, before the process ends.
  process.once('SIGTERM', () => void server.drain().then(() => http.close()))
  // #endregion serve
}
