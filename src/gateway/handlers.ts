/** The handlers of all addresses of a gateway: its routes, and the pages of questions. */
import type { FetchHandler, NodeHandler } from '../server/internal.ts'
import { pathOf, send } from '../server/internal.ts'
import type { GatewayQuestions } from './questions/index.ts'
import { NOT_FOUND, type Routes } from './routes/routes.ts'

export function gatewayNodeHandler(routes: Routes, questions: GatewayQuestions | undefined): NodeHandler {
  return (req, res) => {
    const path = pathOf(req)
    const page = questions?.isPage(path) === true ? questions : undefined
    const served = page ?? routes.at(path, (name) => req.headers[name]?.toString())
    if (served === undefined) send(res, NOT_FOUND)
    else served.node(req, res)
  }
}

export function gatewayFetchHandler(routes: Routes, questions: GatewayQuestions | undefined): FetchHandler {
  return async (request) => {
    const { pathname } = new URL(request.url)
    const page = questions?.isPage(pathname) === true ? questions : undefined
    const served = page ?? routes.at(pathname, (name) => request.headers.get(name) ?? undefined)
    if (served !== undefined) return served.fetch(request)
    return new Response(NOT_FOUND.body ?? null, { status: 404, headers: { 'content-type': 'application/json' } })
  }
}
