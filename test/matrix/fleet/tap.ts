/**
 * A proxy that sees each message on a way: each request before it goes on, the head of each response, and each part of a
 * stream. One with several targets is a plain balancer: requests go to them by turns, and one that refuses is passed over.
 */
import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CALLER_HEADER } from '../clients/client.ts'
import type { OnPassing, Passing, Way } from './passing.ts'

/** How long a request may take whose response is lost, before it is sent again. */
const IN_VAIN_MS = 100

export interface Tap {
  readonly port: number
  /** Requests wait until they are set for the first time. */
  targets: readonly string[]
  /** Resets all connections of a caller and takes no more from it, as if its process had been killed. */
  drop(caller: string): void
  /** From now on nobody listens, as where a process was killed. */
  close(): void
  /** Listens again at the same port. */
  reopen(): Promise<void>
}

export interface TapOptions {
  readonly way: Way
  readonly onPassing: OnPassing
  /** Whether it balances. Else it stands for its one target, and breaks connections as that process would. */
  readonly isBalancer: boolean
}

export async function startTap({ way, onPassing, isBalancer }: TapOptions): Promise<Tap> {
  let turn = 0
  let targets: readonly string[] = []
  const led = Promise.withResolvers<void>()
  const dropped = new Set<string>()
  const open = new Map<ServerResponse, string>()
  const server = createServer((req, res) => {
    const caller = String(req.headers[CALLER_HEADER])
    if (dropped.has(caller)) return void req.socket.resetAndDestroy()
    open.set(res, caller)
    res.once('close', () => open.delete(res))
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => void led.promise.then(() => begin(req, res, Buffer.concat(chunks))))
  })

  const begin = (req: IncomingMessage, res: ServerResponse, body: Buffer): void => {
    if (res.destroyed) return
    const at = targets.length === 0 ? 0 : turn++ % targets.length
    void pass(req, res, body, [...targets.slice(at), ...targets.slice(0, at)])
  }

  const fail = (res: ServerResponse, status: number): void => {
    if (isBalancer && !res.headersSent) res.writeHead(status).end(`${status} by the balancer`)
    else res.socket?.resetAndDestroy()
  }

  const pass = async (req: IncomingMessage, res: ServerResponse, body: Buffer, order: string[]): Promise<void> => {
    const [target, ...others] = order
    if (target === undefined) return fail(res, 503)
    const see = seenOn(req, target)
    const fate = await see('request', body.toString())
    if (res.destroyed) return
    if (fate === 'cut inbound') return void res.socket?.resetAndDestroy()
    if (fate === 'twice') await deliverInVain(onwardOf(req, target), body)
    const onward = onwardOf(req, fate === 'twice' ? (others[0] ?? target) : target)
    onward.on('response', (answer) => void back(answer, res, see, () => fail(res, 502)))
    onward.on('error', (error: NodeJS.ErrnoException) => {
      // A server that was stopped has another one in its place.
      const next = isBalancer ? others : targets.filter((each) => each !== target)
      if (error.code === 'ECONNREFUSED' && !res.headersSent) void pass(req, res, body, next)
      else fail(res, 502)
    })
    res.on('close', () => onward.destroy())
    onward.end(body)
    if (fate === 'cut outbound') onward.once('finish', () => onward.destroy(new Error('cut')))
  }

  const seenOn = ({ headers, method }: IncomingMessage, target: string): See => {
    // Gateways also meet each other at the balancer.
    const isOfClient = way !== 'client ↔ gateway' || headers[CALLER_HEADER] !== undefined
    const caller = headers[CALLER_HEADER]?.toString()
    const of = { way: isOfClient ? way : 'gateway ↔ gateway', target, caller, isGet: method === 'GET' } as const
    return (what, body, isFirst) => onPassing({ ...of, what, body, isFirst })
  }

  const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  server.keepAliveTimeout = 60_000
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    port,
    get targets() {
      return targets
    },
    set targets(to) {
      targets = to
      led.resolve()
    },
    drop: (caller) => {
      dropped.add(caller)
      for (const [res, of] of open) if (of === caller) res.socket?.resetAndDestroy()
    },
    close: () => {
      server.close()
      server.closeAllConnections()
    },
    reopen: () => listen(port),
  }
}

type See = (what: Passing['what'], body: string, isFirst?: boolean) => ReturnType<OnPassing>

function onwardOf(req: IncomingMessage, target: string): ClientRequest {
  const url = new URL(req.url ?? '/', target)
  return request(url, { method: req.method, headers: { ...req.headers, host: url.host }, agent: false })
}

/** Delivers a request whose response is lost: the connection ends when it comes, or before a slow one. */
async function deliverInVain(onward: ClientRequest, body: Buffer): Promise<void> {
  const lost = new Promise<void>((resolve) => {
    setTimeout(resolve, IN_VAIN_MS)
    onward.on('response', () => resolve())
    onward.on('error', () => resolve())
  })
  onward.end(body)
  await lost
  onward.destroy()
}

/**
 * Sends the answer on. It is read as it comes: what a process had sent before it was killed arrives, as it does at any
 * balancer.
 */
async function back(answer: IncomingMessage, res: ServerResponse, see: See, fail: () => void): Promise<void> {
  const parts = partsOf(answer)
  const fate = await see('response', '')
  if (res.destroyed) return
  if (fate === 'cut inbound') return void res.socket?.resetAndDestroy()
  if (fate === 'cut outbound') {
    answer.destroy()
    return fail()
  }
  res.writeHead(answer.statusCode ?? 502, answer.headers)
  res.flushHeaders()
  let isFirst = true
  let isCut = false
  for await (const part of parts) {
    isCut = isStream(answer) && (await see('part', String(part), isFirst)) !== undefined
    if (isCut) break
    isFirst = false
    res.write(part)
  }
  if (answer.complete && !isCut) res.end()
  else res.socket?.destroySoon() // after what was written; then the connection to the target is closed, too
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
