/** The checked servers as a Lambda function, behind a host that turns requests into events as a function URL does. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { buffered, type LambdaEvent, type LambdaResult, streaming } from '../../../examples/lambda/adapter.ts'
import { checkedServers, type Given } from './checked.ts'

type Streaming = (event: LambdaEvent, stream: ServerResponse) => Promise<void>

Object.assign(globalThis, {
  awslambda: {
    streamifyResponse: (handler: Streaming) => handler,
    HttpResponseStream: {
      from: (stream: ServerResponse, { statusCode, headers }: LambdaResult) => stream.writeHead(statusCode, headers),
    },
  },
})

const { fetch } = checkedServers(JSON.parse(process.env['GIVEN'] ?? '') as Given)
const isBuffered = process.argv[2] === 'buffered'
const inOnePiece = buffered(fetch)
const inPieces = streaming(fetch) as Streaming

const host = createServer((req, res) => {
  void buffer(req).then(async (body) => {
    const [rawPath = '', rawQueryString = ''] = (req.url ?? '').split('?')
    const event: LambdaEvent = {
      rawPath,
      rawQueryString,
      headers: req.headers as Record<string, string>,
      ...(body.length > 0 && { body: body.toString('base64'), isBase64Encoded: true }),
      requestContext: { domainName: String(req.headers.host), http: { method: String(req.method) } },
    }
    if (!isBuffered) return inPieces(event, res)
    const { statusCode, headers, body: text } = await inOnePiece(event)
    res.writeHead(statusCode, headers).end(text)
  })
})
host.listen(0, '127.0.0.1', () => {
  const { port } = host.address() as AddressInfo
  console.log(JSON.stringify({ base: `http://127.0.0.1:${port}` }))
})
