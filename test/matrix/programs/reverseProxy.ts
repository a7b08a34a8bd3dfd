/**
 * A gateway for tests that passes requests to one server: `reverseProxy.ts PORT URL MODE`. It is `faithful`, or it sends each call
 * twice (`doubling`), or keeps the answers to calls for itself (`swallowing`), but for those that ask whether it serves.
 */
import { createServer, type IncomingMessage, request } from 'node:http'

const [port, url = '', mode] = process.argv.slice(2)

createServer((req, res) => {
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => {
    const body = Buffer.concat(chunks)
    const isCall = body.includes('"tools/call"') && !body.includes('"nobody"')
    const headers = { ...req.headers, host: new URL(url).host }
    const pass = (onAnswer: (answer: IncomingMessage) => void): void => {
      const onward = request(url, { method: req.method, headers }, onAnswer)
      onward.on('error', () => (res.headersSent ? res.destroy() : res.writeHead(502).end('The server is gone.')))
      res.on('close', () => onward.destroy())
      onward.end(body)
    }
    if (isCall && mode === 'doubling') pass((answer) => answer.resume())
    pass((answer) => {
      answer.on('error', () => res.destroy())
      if (isCall && mode === 'swallowing') return void answer.resume()
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      res.flushHeaders()
      answer.pipe(res)
    })
  })
}).listen(Number(port), '127.0.0.1')
