/**
 * A client of the session era: it reads questions on the stream of its call, answers them by requests of their own, and comes
 * back with the id of the last event when its stream breaks. Each request goes where the balancer sends it.
 */
import type { Random } from '../fuzz/random.ts'
import { type Answered, exchange, type OnEvent, pause } from './http.ts'
import type { Network, SentRequest } from './network.ts'
import { OUTCOME_WITHIN_MS, type ObservedCall, type Observer } from './observer.ts'
import type { ToolName } from './tools.ts'
import { Host, type World } from './world.ts'

export interface ClientOptions {
  readonly name: string
  readonly world: World
  readonly network: Network
  readonly random: Random
  readonly observer: Observer
  /** The address of the next process. */
  readonly balance: () => string
  readonly tools: readonly ToolName[]
}

export interface SessionClientOptions extends ClientOptions {
  /** Whether it echoes states. Such a client also posts its newest answers again when it comes back to a stream, as `echoFetch` does. */
  readonly echoes: boolean
  /** Whether it sends an answer again whose connection failed. Faults of the network spare those that do not. */
  readonly repeats: boolean
  /** How likely it cancels a call. */
  readonly cancels: number
}

type Message = {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly message?: string; readonly requestId?: unknown }
  readonly result?: { readonly content?: readonly { readonly text?: string }[]; readonly isError?: boolean }
  readonly error?: { readonly message?: string; readonly data?: { readonly code?: string } }
  readonly state?: string
}

const VERSION = '2025-11-25'

export class SessionClient {
  readonly host: Host
  isDone = false
  readonly #options: SessionClientOptions
  #session = ''
  #nextId = 1

  constructor(options: SessionClientOptions) {
    this.#options = options
    this.host = new Host(options.name)
    options.world.schedule(this.host, 300 + options.random.next() * 1500, () => void this.#run())
  }

  async #run(): Promise<void> {
    await this.#initialize()
    for (const [index, tool] of this.#options.tools.entries()) await this.#call(`${this.host.name}.${index}`, tool)
    this.isDone = true
  }

  async #initialize(): Promise<void> {
    const { echoes } = this.#options
    const experimental = echoes ? { 'dev.pannier/state-echo': {} } : {}
    const capabilities = { elicitation: {}, experimental }
    const params = { protocolVersion: VERSION, clientInfo: { name: this.host.name, version: '1' }, capabilities }
    while (this.#session === '') {
      const answered = await this.#post({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, 'initialize')
      if (answered.kind === 'replied') this.#session = answered.headers.get('mcp-session-id') ?? ''
      else await pause(100)
    }
  }

  async #call(name: string, tool: ToolName): Promise<void> {
    const { observer, random, world } = this.#options
    const call = observer.begin(name, tool, 'session')
    const reading = new CallReading(call, this.#nextId++, observer, (message, signal) => {
      void this.#answer(call, reading, message, signal)
    })
    const ended = reading.ended.promise
    if (random.chance(this.#options.cancels)) void this.#cancelSometime(call, reading)
    const params = { name: tool, arguments: { call: name } }
    const request = { jsonrpc: '2.0', id: reading.requestId, method: 'tools/call', params }
    let answered = await this.#post(request, `tools/call ${name}`, reading.onEvent)
    while (answered.kind === 'failed' && answered.code === 'ECONNREFUSED') {
      await pause(50)
      answered = await this.#post(request, `tools/call ${name}`, reading.onEvent)
    }
    if (answered.kind === 'replied') reading.read(answered.body)
    while (call.outcome === undefined && world.now - call.beganAt < OUTCOME_WITHIN_MS) {
      if (answered.kind === 'stream') {
        await Promise.race([answered.over, ended])
        answered.close()
      }
      if (call.outcome !== undefined) break
      if (reading.lastEventId === undefined) {
        observer.told(call, 'the connection was lost before the first event')
        await this.#cancel(call, reading)
        break
      }
      await pause(20 + random.next() * 1000)
      answered = await this.#comeBack(call, reading)
    }
    if (answered.kind === 'stream') answered.close()
  }

  async #comeBack(call: ObservedCall, reading: CallReading): Promise<Answered> {
    const headers = { ...this.#headers(), accept: 'text/event-stream', 'last-event-id': reading.lastEventId ?? '' }
    const label = (): string => `GET the stream of ${call.name}`
    const request = { method: 'GET', headers, label, mayRepeat: false } as const
    const answered = await this.#send(request, reading.onEvent)
    const isRefused = answered.kind === 'replied' && answered.status !== 503
    if (answered.kind === 'stream' && this.#options.echoes) void this.#answerAgain(call, reading)
    if (isRefused && call.outcome === undefined) this.#refused(call, `${answered.status} ${answered.body}`)
    return answered
  }

  /** Where two processes have gone on with a call, an event of one may have the number of a later one of the other. */
  #refused(call: ObservedCall, reply: string): void {
    const { observer } = this.#options
    if (observer.mayFork(call)) observer.told(call, reply)
    else observer.violate(`${call.name} came back to its stream and got ${reply}`)
  }

  /** Answers once a person has thought. */
  async #answer(call: ObservedCall, reading: CallReading, asked: Message, withdrawn: AbortSignal): Promise<void> {
    const { observer, random } = this.#options
    const { id, params, state } = asked
    const key = observer.asked(call, params?.message ?? '')
    await pause(10 + random.next() * (random.chance(0.3) ? 4000 : 300))
    const answer = `${call.name}/${key}`
    call.answers.set(key, answer)
    const result = { action: 'accept', content: { answer } }
    const message = { jsonrpc: '2.0', id, result, ...(state !== undefined && { state }) }
    if (reading.isNewest(id)) reading.posted.set(id, message)
    await this.#postAnswer(call, message, `answer ${key} of ${call.name}`, withdrawn)
  }

  async #answerAgain(call: ObservedCall, reading: CallReading): Promise<void> {
    for (const [id, message] of reading.posted)
      if (reading.posted.has(id)) await this.#postAnswer(call, message, `answer of ${call.name} again`)
  }

  async #postAnswer(call: ObservedCall, message: object, label: string, withdrawn?: AbortSignal): Promise<void> {
    const { random, repeats } = this.#options
    for (let attempt = 0; attempt < 30 && call.outcome === undefined; attempt++) {
      if (withdrawn?.aborted) return
      const answered = await this.#post(message, label)
      const isUnsent = answered.kind === 'failed' && (repeats || answered.code === 'ECONNREFUSED')
      if (!isUnsent && !(answered.kind === 'replied' && answered.status === 503)) return
      await pause(50 + random.next() * 400)
    }
  }

  async #cancelSometime(call: ObservedCall, reading: CallReading): Promise<void> {
    const { random } = this.#options
    await pause(random.next() * 3000)
    // A cancellation that overtakes its request is one of an unknown request.
    while (call.outcome === undefined && reading.lastEventId === undefined) await pause(50)
    if (call.outcome === undefined) await this.#cancel(call, reading)
  }

  /** A lost connection is no cancellation in this era, so a client that gives up says so. */
  async #cancel(call: ObservedCall, reading: CallReading): Promise<void> {
    this.#options.observer.cancelled(call)
    reading.ended.resolve()
    const params = { requestId: reading.requestId }
    const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
    while ((await this.#post(message, `cancel ${call.name}`)).kind === 'failed') await pause(100)
  }

  #headers(): Record<string, string> {
    return this.#session === '' ? {} : { 'mcp-session-id': this.#session, 'mcp-protocol-version': VERSION }
  }

  #post(message: object, what: string, onEvent?: OnEvent): Promise<Answered> {
    const accept = 'application/json, text/event-stream'
    const headers = { ...this.#headers(), 'content-type': 'application/json', accept }
    const mayRepeat = what.startsWith('answer') || what.startsWith('cancel')
    return this.#send({ method: 'POST', headers, body: JSON.stringify(message), label: () => what, mayRepeat }, onEvent)
  }

  #send(request: SentRequest, onEvent?: OnEvent): Promise<Answered> {
    const { network, balance, repeats } = this.#options
    return exchange(network, this.host, balance(), { ...request, isSpared: !repeats }, onEvent)
  }
}

/** What a client has read of the answer to one call. */
class CallReading {
  readonly requestId: number
  readonly ended = Promise.withResolvers<void>()
  lastEventId: string | undefined
  /** The answers to the newest questions: only these may be posted again. */
  readonly posted = new Map<unknown, object>()
  readonly #newest = new Set<unknown>()
  readonly #call: ObservedCall
  readonly #observer: Observer
  readonly #ask: (message: Message, withdrawn: AbortSignal) => void
  readonly #questions = new Map<unknown, AbortController>()

  constructor(
    call: ObservedCall,
    requestId: number,
    observer: Observer,
    ask: (message: Message, withdrawn: AbortSignal) => void,
  ) {
    this.#call = call
    this.requestId = requestId
    this.#observer = observer
    this.#ask = ask
  }

  readonly onEvent: OnEvent = (id, data) => {
    if (id !== undefined) this.lastEventId = id
    if (data !== '') this.read(data)
  }

  read(text: string): void {
    if (this.#call.isCancelled) return
    const message = JSON.parse(text) as Message
    if (message.method === 'elicitation/create') return this.#asked(message)
    if (message.method === 'notifications/cancelled') return this.#questions.get(message.params?.requestId)?.abort()
    if (message.id !== this.requestId && message.error === undefined)
      return this.#observer.violate(`${this.#call.name} got a message for request ${String(message.id)}`)
    endCall(this.#observer, this.#call, message)
    this.ended.resolve()
  }

  isNewest(question: unknown): boolean {
    return this.#newest.has(question)
  }

  #asked(message: Message): void {
    if (this.#questions.has(message.id)) return
    if (this.posted.size > 0) {
      this.posted.clear()
      this.#newest.clear()
    }
    this.#newest.add(message.id)
    const withdrawn = new AbortController()
    this.#questions.set(message.id, withdrawn)
    this.#ask(message, withdrawn.signal)
  }
}

/** Notes the response to a call. */
export function endCall(observer: Observer, call: ObservedCall, { result, error }: Message): void {
  const text = result?.content?.[0]?.text ?? ''
  if (error !== undefined) observer.told(call, error.data?.code ?? error.message ?? '')
  else if (result?.isError === true) observer.told(call, text)
  else observer.completed(call, text)
}
