/** Sends each request to the handler of its path. */
import type { HeaderReader } from '../../protocol/index.ts'
import { type FetchHandler, type NodeHandler, pathOf, refusal, send } from '../../server/internal.ts'
import { UNION_PATH } from '../cluster.ts'

export const VIEWS_PATH = '/views'

/** The handler of a path; undefined if there is none. `header`: reads the request's headers. */
type FindServed = (path: string, header: HeaderReader) => ServedPath | undefined

interface ServedPath {
  readonly node: NodeHandler
  readonly fetch: FetchHandler
}

/** The reply for a path without a route. */
const NOT_FOUND = refusal(
  404,
  `No server or view is at this path. All servers are at ${UNION_PATH}, one of them at ${UNION_PATH}/NAME, and a view at ${VIEWS_PATH}/NAME.`,
)

export function dispatchNode(find: FindServed): NodeHandler {
  return (req, res) => {
    const served = find(pathOf(req), (name) => req.headers[name]?.toString())
    if (served === undefined) send(res, NOT_FOUND)
    else served.node(req, res)
  }
}

export function dispatchFetch(find: FindServed): FetchHandler {
  return async (request) => {
    const served = find(new URL(request.url).pathname, (name) => request.headers.get(name) ?? undefined)
    if (served !== undefined) return served.fetch(request)
    return new Response(NOT_FOUND.body ?? null, { status: 404, headers: { 'content-type': 'application/json' } })
  }
}
