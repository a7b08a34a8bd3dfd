/** A route handler of Next.js in the Node runtime, with the variable PANNIER_KEYS. It is served at /mcp. */
// #region route
import { orders } from '../../../workers/orders.ts' // a function that calls createServer and adds tools

const server = orders()

function handler(request: Request): Promise<Response> {
  return server.fetch(request) // with `after` of next/server: server.fetch(request, { waitUntil: after })
}

export { handler as DELETE, handler as GET, handler as POST }
export const dynamic = 'force-dynamic'
// #endregion route
