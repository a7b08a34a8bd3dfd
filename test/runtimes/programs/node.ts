/** The checked servers in Node: those with sessions by `listen`, the others by a small host on `node:http`. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { checkedServers, type Given } from './checked.ts'

const { both, fetch } = checkedServers(JSON.parse(process.env['GIVEN'] ?? '') as Given)
const listening = await both.listen({ port: 0 })

const host = createServer((req, res) => {
  const closed = new AbortController()
  res.on('close', () => closed.abort())
  const request = new Request(`http://${req.headers.host}${req.url}`, {
    method: String(req.method),
    headers: req.headers as Record<string, string>,
    signal: closed.signal,
    ...(req.method === 'POST' && { body: Readable.toWeb(req) as ReadableStream, duplex: 'half' as const }),
  })
  void fetch(request).then(({ status, headers, body }) => {
    res.writeHead(status, Object.fromEntries(headers))
    if (body === null) res.end()
    else Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]).pipe(res)
  })
})
host.listen(0, '127.0.0.1', () => {
  const { port } = host.address() as AddressInfo
  console.log(JSON.stringify({ own: listening.url, base: `http://127.0.0.1:${port}` }))
})
