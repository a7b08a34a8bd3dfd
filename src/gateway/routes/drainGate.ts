/**
 * Admission while a gateway stops: it starts no new calls. It forwards them to another gateway; if none is known, the
 * request is refused before it starts, so that a balancer can send it to the next one. Messages of calls that have
 * started (answers, later rounds, cancellations, streams, tasks) are accepted as before.
 */
import { isObject } from '../../protocol/index.ts'
import {
  type Admission,
  type Assembly,
  type EndpointRequest,
  type HostSink,
  type HttpReply,
  type NewRequest,
  refusal,
  type RequestHandler,
} from '../../server/internal.ts'
import { clusterUrl } from '../cluster.ts'

/** Methods that begin a session or a call. Lists are answered from a cache. */
const BEGINNING: ReadonlySet<unknown> = new Set([
  'initialize',
  'tools/call',
  'prompts/get',
  'resources/read',
  'completion/complete',
])

const STOPPING: HttpReply = {
  ...refusal(503, 'This gateway is being stopped, and the request was not begun. Send it again, to another one.'),
  headers: { 'retry-after': '1', connection: 'close' },
}

export class DrainGate implements RequestHandler {
  readonly #assembly: Assembly
  readonly #inner: RequestHandler
  /** Forwarded requests without an answer yet. */
  readonly #forwarded = new Set<Promise<unknown>>()
  readonly #others: () => Promise<readonly string[]>
  /** Resolves when the other gateways have been met. */
  #met: Promise<void> | undefined

  /**
   * `inner`: the handler while the gateway is not stopping. `others`: the addresses of the gateways in the database,
   * which this one may not have met.
   */
  constructor(assembly: Assembly, inner: RequestHandler, others: () => Promise<readonly string[]>) {
    this.#assembly = assembly
    this.#inner = inner
    this.#others = others
  }

  handle(request: EndpointRequest, admission: Admission, sink: HostSink): Promise<HttpReply | undefined> {
    const { isStopping } = this.#assembly.cluster.members
    if (!isStopping || request.method !== 'POST') return this.#inner.handle(request, admission, sink)
    return this.#handle(request, admission, sink)
  }

  /** Resolves when all forwarded requests are answered. */
  async idle(): Promise<void> {
    while (this.#forwarded.size > 0) await Promise.allSettled(this.#forwarded)
  }

  async #handle(request: EndpointRequest, admission: Admission, sink: HostSink): Promise<HttpReply | undefined> {
    if (request.hasBytes) await request.whole()
    const body = await request.json()
    const begins = Array.isArray(body) ? body.some(beginsCall) : beginsCall(body)
    if (!begins) return this.#assembly.endpoint.handler.handle(request, admission, sink)
    const { address } = sink
    const headers = headersOf(request)
    const forwarding = this.#forward({ headers, body, ...admission, address }, sink)
    this.#forwarded.add(forwarding)
    const reply = await forwarding.finally(() => this.#forwarded.delete(forwarding))
    return reply === 'untaken' ? STOPPING : reply
  }

  async #forward(request: NewRequest, sink: HostSink): Promise<HttpReply | undefined | 'untaken'> {
    const { newRequests, cluster } = this.#assembly
    const reply = await newRequests.forward(request, sink)
    if (reply !== 'untaken') return reply
    this.#met ??= this.#others().then((addresses) => cluster.meet(addresses.map(clusterUrl)))
    await this.#met
    return newRequests.forward(request, sink)
  }
}

/** Whether a message begins a call: a later round brings its state. */
function beginsCall(message: unknown): boolean {
  if (!isObject(message) || !BEGINNING.has(message['method'])) return false
  const { params } = message
  return !isObject(params) || params['requestState'] === undefined
}

function headersOf({ rawHeaders, header }: EndpointRequest): Readonly<Record<string, string>> {
  const names = new Set(rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase()))
  return Object.fromEntries(Array.from(names, (name) => [name, header(name) ?? '']))
}
