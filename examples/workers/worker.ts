/** A Worker without `nodejs_compat`. Its first request makes the server, because variables come with requests. */
// #region worker
import type { Server } from 'pannier/modern'
import { orders } from './orders.ts' // a function that calls createServer and adds tools

let server: Server | undefined

export default {
  fetch(request: Request, env: { readonly PANNIER_KEYS: string }, ctx: { waitUntil(work: Promise<unknown>): void }) {
    server ??= orders({ keys: env.PANNIER_KEYS })
    return server.fetch(request, ctx)
  },
}
// #endregion worker
