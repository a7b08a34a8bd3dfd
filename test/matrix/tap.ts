/**
 * A proxy that sees each message on a way: each request before it goes on, the head of each response, and each part of a
 * stream. Requests go to the targets by turns, as behind a plain balancer; one that refuses is passed over.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A message that is about to go on. */
export interface Passing {
  readonly way: string
  readonly target: string
  readonly what: 'request' | 'response' | 'part'
  /** Of a request. */
  readonly body: string
}

export type OnPassing = (passing: Passing) => Promise<void> | undefined

export interface Tap {
  readonly port: number
  /** Requests wait until they are set for the first time. */
  targets: readonly string[]
  close(): void
}

export async function startTap(way: string, onPassing: OnPassing): Promise<Tap> {
  let turn = 0
  let targets: readonly string[] = []
  const led = Promise.withResolvers<void>()
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => void led.promise.then(() => begin(req, res, Buffer.concat(chunks))))
  })

  const begin = (req: IncomingMessage, res: ServerResponse, body: Buffer): void => {
    if (res.destroyed) return
    const at = targets.length === 0 ? 0 : turn++ % targets.length
    void pass(req, res, body, [...targets.slice(at), ...targets.slice(0, at)])
  }

  const pass = async (req: IncomingMessage, res: ServerResponse, body: Buffer, order: string[]): Promise<void> => {
    const [target, ...others] = order
    if (target === undefined) return void res.writeHead(503).end('503 Service Unavailable')
    const see = (what: Passing['what'], text = ''): Promise<void> | undefined =>
      onPassing({ way, target, what, body: text })
    await see('request', body.toString())
    const url = new URL(req.url ?? '/', target)
    const headers = { ...req.headers, host: url.host }
    const onward = request(url, { method: req.method, headers, agent: false })
    onward.on('response', (answer) => void back(answer, res, see))
    onward.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && !res.headersSent) void pass(req, res, body, others)
      else if (res.headersSent) res.destroy()
      else res.writeHead(502).end('502 Bad Gateway')
    })
    res.on('close', () => onward.destroy())
    onward.end(body)
  }

  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const tap: Tap = {
    port: (server.address() as AddressInfo).port,
    get targets() {
      return targets
    },
    set targets(to) {
      targets = to
      led.resolve()
    },
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return tap
}

/**
 * Sends the answer on. It is read as it comes: what a process had sent before it was killed arrives, as it does at any
 * balancer.
 */
async function back(
  answer: IncomingMessage,
  res: ServerResponse,
  see: (what: Passing['what']) => Promise<void> | undefined,
): Promise<void> {
  const parts = partsOf(answer)
  await see('response')
  if (res.destroyed) return
  res.writeHead(answer.statusCode ?? 502, answer.headers)
  res.flushHeaders()
  for await (const part of parts) {
    if (isStream(answer)) await see('part')
    res.write(part)
  }
  if (answer.complete) res.end()
  else res.socket?.destroySoon() // after what was written
}

/** The parts of an answer until it ends or breaks off. They are read from now on, whenever they are wanted. */
function partsOf(answer: IncomingMessage): AsyncIterable<Buffer> {
  const parts: Buffer[] = []
  let isOver = false
  let news = Promise.withResolvers<void>()
  answer.on('data', (part: Buffer) => {
    parts.push(part)
    news.resolve()
  })
  answer.on('error', () => {}) // it has broken off, and closes
  answer.on('close', () => {
    isOver = true
    news.resolve()
  })
  return (async function* () {
    for (;;) {
      const part = parts.shift()
      if (part !== undefined) yield part
      else if (isOver) return
      else {
        await news.promise
        news = Promise.withResolvers<void>()
      }
    }
  })()
}

function isStream({ headers }: IncomingMessage): boolean {
  return headers['content-type']?.startsWith('text/event-stream') === true
}
