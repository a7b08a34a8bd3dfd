/**
 * The simulated network: HTTP requests from host to host. Each takes its time, so that requests overtake each other, while the
 * bytes of one connection keep their order. Connections are refused, reset and cut; some requests arrive twice.
 */
import type { Random } from '../fuzz/random.ts'
import { Host, type World } from './world.ts'

export interface SentRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Whether faults of the network spare it: its sender does not send it again. */
  readonly isSpared?: boolean
  /** Whether it may arrive twice. */
  readonly mayRepeat?: boolean
  /** What it is, for whoever reads the run. */
  readonly label: () => string
}

/** What the sender of a request sees. */
export interface Receiver {
  /** A whole reply. */
  replied(status: number, headers: Headers, body: string): void
  /** The head of a stream. */
  opened(status: number, headers: Headers): void
  received(bytes: Uint8Array): void
  ended(): void
  failed(code: string): void
}

/** What serves an address. */
export interface Listener {
  readonly host: Host
  serve(request: Request): Promise<Response>
}

/** The probabilities of faults. */
export interface NetworkWeather {
  readonly cut: number
  readonly twice: number
  readonly slow: number
}

export const FAIR: NetworkWeather = { cut: 0, twice: 0, slow: 0.02 }

/** A message without an answer is sent again within this time. */
const RETRIED_WITHIN_MS = 5000

const NOWHERE: Receiver = {
  replied: () => {},
  opened: () => {},
  received: () => {},
  ended: () => {},
  failed: () => {},
}

export class Network {
  readonly world: World
  readonly random: Random
  /** The kernel and the wire, which never freeze. */
  readonly wire = new Host('wire')
  weather = FAIR
  requests = 0
  /** Called with each request that arrives, by its sender and its receiver. */
  onArrival: (from: Host, to: Host) => void = () => {}
  readonly #listeners = new Map<string, Listener>()
  readonly #exchanges = new Set<Exchange>()
  readonly #repeatedAt = new Map<string, number>()

  constructor(world: World, random: Random) {
    this.world = world
    this.random = random
  }

  listen(url: string, listener: Listener): void {
    this.#listeners.set(url, listener)
  }

  /** New connections to this address are refused from now on. */
  stopListening(url: string, host: Host): void {
    if (this.#listeners.get(url)?.host === host) this.#listeners.delete(url)
  }

  listenerAt(url: string): Listener | undefined {
    return this.#listeners.get(url)
  }

  /** Sends a request. Returns the function that closes its connection. */
  send(from: Host, url: string, request: SentRequest, receiver: Receiver): () => void {
    this.requests++
    const { weather, random } = this
    const exchange = this.#begin(from, url, request, receiver)
    if (request.isSpared) return () => exchange.close()
    if (random.chance(weather.cut)) exchange.cutSometime()
    if (request.mayRepeat && random.chance(weather.twice)) this.#repeat(from, url, request)
    return () => exchange.close()
  }

  /** Sends it twice, unless one before was sent twice: a process to which both attempts fail may count as gone. */
  #repeat(from: Host, url: string, request: SentRequest): void {
    const way = `${from.name} ${url}`
    const { now } = this.world
    if (now - (this.#repeatedAt.get(way) ?? -Infinity) < RETRIED_WITHIN_MS) return
    this.#repeatedAt.set(way, now)
    this.#begin(this.wire, url, request, NOWHERE)
  }

  #begin(from: Host, url: string, request: SentRequest, receiver: Receiver): Exchange {
    const exchange = new Exchange(this, { from, url, request, receiver }, () => this.#exchanges.delete(exchange))
    this.#exchanges.add(exchange)
    return exchange
  }

  /** The requests that a host has not answered. */
  openAt(host: Host): number {
    return [...this.#exchanges].filter((exchange) => exchange.isAt(host)).length
  }

  /** The process of this host is gone. `isTidy`: it has sent everything before. */
  gone(host: Host, isTidy: boolean): void {
    for (const exchange of this.#exchanges) exchange.hostGone(host, isTidy)
  }

  latency(): number {
    if (this.random.chance(this.weather.slow)) return this.random.next() * 1500
    return 0.2 + this.random.next() * (this.random.chance(0.1) ? 100 : 5)
  }
}

interface ExchangeParts {
  readonly from: Host
  readonly url: string
  readonly request: SentRequest
  readonly receiver: Receiver
}

/** One request and its reply on a connection of their own. */
class Exchange {
  readonly #network: Network
  readonly #parts: ExchangeParts
  readonly #forget: () => void
  readonly #left = new AbortController()
  #listener: Listener | undefined
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #lastAt = 0
  /** Whether the sender sees nothing more. */
  #isClosed = false
  /** Whether the server has answered everything, or sees that the sender has left. */
  #isServed = false
  #hasLeft = false
  #isCut = false

  constructor(network: Network, parts: ExchangeParts, forget: () => void) {
    this.#network = network
    this.#parts = parts
    this.#forget = forget
    network.world.schedule(network.wire, network.latency(), () => this.#arrive())
  }

  isAt(host: Host): boolean {
    return this.#listener?.host === host && !this.#isServed
  }

  /** The sender closes the connection. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#network.world.schedule(this.#network.wire, this.#network.latency(), () => this.#leave())
  }

  /** The connection breaks while the request, the reply or the stream is on its way. */
  cutSometime(): void {
    const { world, wire, random } = this.#network
    world.schedule(wire, random.next() * (random.chance(0.5) ? 10 : 3000), () => this.#cut())
  }

  hostGone(host: Host, isTidy: boolean): void {
    if (host === this.#parts.from) {
      this.#isCut ||= !isTidy && this.#network.random.chance(0.5) // what was not sent is lost with a machine
      this.#isClosed = true
      this.#leave()
    }
    if (host !== this.#listener?.host) return
    this.#isServed = true
    // The kernel may drop what was not read when the connection is reset.
    if (!isTidy && this.#network.random.chance(0.5)) this.#fail('ECONNRESET')
    else this.#deliver(() => this.#fail('ECONNRESET'))
  }

  /** What was sent arrives although its sender has left, unless the connection was cut before. */
  #arrive(): void {
    if (this.#isCut) return this.#forget()
    const { url, request, from } = this.#parts
    const { world } = this.#network
    const listener = this.#network.listenerAt(url)
    world.note(() => `${from.name} -> ${listener?.host.name ?? url}  ${request.label()}`)
    if (listener === undefined) return this.#deliver(() => this.#fail('ECONNREFUSED'))
    this.#listener = listener
    world.schedule(listener.host, 0, () => this.#serve(listener))
    this.#network.onArrival(from, listener.host)
    if (this.#hasLeft) this.#leave()
  }

  #serve(listener: Listener): void {
    const { url, request } = this.#parts
    const arrived = new ArrivedRequest(url, request, this.#left.signal)
    void listener.serve(arrived as unknown as Request).then((response) => this.#reply(response))
  }

  #reply(response: Response): void {
    const { receiver, from, request } = this.#parts
    const { status, headers } = response
    const to = this.#listener?.host.name
    const { world } = this.#network
    if (this.#left.signal.aborted) return void response.body?.cancel()
    if (headers.get('content-type') === 'text/event-stream') {
      this.#deliver(() => {
        world.note(() => `${from.name} <- ${to}  ${status} stream for ${request.label()}`)
        receiver.opened(status, headers)
      })
      return void this.#pump(response)
    }
    void response.text().then((text) => {
      this.#isServed = true
      this.#deliver(() => {
        world.note(() => `${from.name} <- ${to}  ${status} for ${request.label()}`)
        this.#isClosed = true
        this.#forget()
        receiver.replied(status, headers, text)
      })
    })
  }

  async #pump({ body }: Response): Promise<void> {
    const { receiver } = this.#parts
    this.#reader = body?.getReader()
    for (;;) {
      const chunk = await this.#reader?.read().catch(() => undefined)
      if (chunk?.value === undefined) break
      const bytes = chunk.value
      this.#deliver(() => receiver.received(bytes))
    }
    if (this.#isServed) return
    this.#isServed = true
    this.#deliver(() => {
      this.#isClosed = true
      this.#forget()
      receiver.ended()
    })
  }

  /** Runs a function at the sender, after everything that was sent there before. */
  #deliver(run: () => void): void {
    const { world } = this.#network
    this.#lastAt = Math.max(this.#lastAt, world.now + this.#network.latency())
    world.schedule(this.#parts.from, this.#lastAt - world.now, () => {
      if (!this.#isClosed) run()
    })
  }

  #fail(code: string): void {
    if (this.#isClosed) return
    const { from, receiver, request } = this.#parts
    const { world } = this.#network
    this.#isClosed = true
    this.#forget()
    world.schedule(from, 0, () => {
      world.note(() => `${from.name} <- ${code} for ${request.label()}`)
      receiver.failed(code)
    })
  }

  /** The server sees that the sender has left. */
  #leave(): void {
    this.#forget()
    this.#hasLeft = true
    const listener = this.#listener
    if (listener === undefined || this.#isServed) return
    this.#isServed = true
    this.#network.world.schedule(listener.host, 0, () => {
      this.#left.abort()
      void this.#reader?.cancel().catch(() => {})
    })
  }

  #cut(): void {
    this.#isCut = true
    this.#fail('ECONNRESET')
    this.#isClosed = true
    this.#leave()
  }
}

/** A request as a server's `fetch` needs it. A `Request` of the platform costs more than the server's work. */
class ArrivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: { get(name: string): string | null }
  readonly signal: AbortSignal
  readonly bodyUsed = false
  readonly #body: Buffer

  constructor(url: string, { method, headers, body = '' }: SentRequest, signal: AbortSignal) {
    this.method = method
    this.url = url
    this.signal = signal
    this.#body = Buffer.from(body)
    const all: Readonly<Record<string, string>> = { ...headers, 'content-length': String(this.#body.length) }
    this.headers = { get: (name) => all[name] ?? null }
  }

  get body(): AsyncIterable<Uint8Array> {
    const bytes = this.#body
    return (async function* () {
      yield bytes
    })()
  }

  async arrayBuffer(): Promise<Uint8Array> {
    return this.#body
  }
}

export type SealedMessage = Required<Pick<SentRequest, 'headers' | 'body'>>

/** The `fetch` of simulated processes. `onSent` is called with each message. */
export function fetchOver(
  network: Network,
  label: (message: SealedMessage) => string,
  onSent: (message: SealedMessage) => void,
): typeof fetch {
  return (async (url: string, init: RequestInit & { headers: Record<string, string>; body: string }) => {
    const from = network.world.current
    if (from === undefined) throw new Error('Only simulated hosts use the simulated network.')
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined
    const { headers, body, signal } = init
    onSent({ headers, body })
    const request: SentRequest = {
      method: 'POST',
      headers,
      body,
      mayRepeat: true,
      label: () => label({ headers, body }),
    }
    const close = network.send(from, url, request, {
      replied: (status, replyHeaders, text) => resolve(wholeResponse(status, replyHeaders, text)),
      opened: (status, replyHeaders) => {
        const start = (made: ReadableStreamDefaultController<Uint8Array>): void => void (controller = made)
        const stream = new ReadableStream<Uint8Array>({ start, cancel: () => close() })
        resolve(new Response(stream, { status, headers: replyHeaders }))
      },
      received: (bytes) => controller?.enqueue(bytes),
      ended: () => controller?.close(),
      failed: (code) => {
        const error = Object.assign(new TypeError('fetch failed'), { cause: { code } })
        controller?.error(error)
        reject(error)
      },
    })
    signal?.addEventListener('abort', () => {
      close()
      reject(signal.reason as Error)
    })
    return promise
  }) as typeof fetch
}

/** A whole reply, as far as instances read it. */
function wholeResponse(status: number, headers: Headers, text: string): Response {
  const response = {
    status,
    ok: status >= 200 && status < 300,
    headers,
    body: null,
    text: async () => text,
    json: async (): Promise<unknown> => JSON.parse(text),
  }
  return response as unknown as Response
}
