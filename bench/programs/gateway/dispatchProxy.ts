/** What passing requests on costs with undici alone: a proxy that checks nothing and knows nothing of MCP. */
import { createServer, type OutgoingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent } from 'undici'
import { serveRequests } from '../ipc.ts'
import { type GatewayRole, readRole } from '../role.ts'

const { origin, pathname: path } = new URL(readRole<GatewayRole>().server ?? '')
const agent = new Agent()
const server = createServer((req, res) => {
  const { host: _, connection: __, ...headers } = req.headers
  agent.dispatch(
    { origin, path, method: 'POST', headers, body: req },
    {
      onRequestStart: () => {},
      onResponseStart: (_controller, status, given) => void res.writeHead(status, given as OutgoingHttpHeaders),
      onResponseData: (controller, chunk) => {
        if (res.write(chunk)) return
        controller.pause()
        res.once('drain', () => controller.resume())
      },
      onResponseEnd: () => void res.end(),
      onResponseError: () => void res.destroy(),
    },
  )
})
server.listen(0, '127.0.0.1', () => serveRequests({}, { port: (server.address() as AddressInfo).port }))
