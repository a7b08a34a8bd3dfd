/**
 * The answer to a session-era request over HTTP: one JSON message, or a resumable stream that also carries questions.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { ScopeClosed } from '../../journal/index.ts'
import type { Json } from '../../protocol/index.ts'
import type { Call, Caller, CarriedCall, Channel } from '../call.ts'
import type { LegacyStream } from './streams/stream.ts'
import type { LegacyStreams } from './streams/streams.ts'
import type { PushBroker } from './push/broker.ts'
import type { PushElsewhere } from './push/pushWay.ts'
import { notificationMessage } from '../results.ts'
import type { Sink } from '../http/exchange.ts'
import { SSE_HEADERS } from '../http/sse.ts'

export interface LegacyChannelOptions {
  readonly streams: LegacyStreams
  readonly pushes: PushBroker
  readonly caller: Caller
  /** The client's connection; or, for a call that was resumed, the stream that its client has or will reconnect to. */
  readonly target: Sink | LegacyStream
}

export class LegacyChannel implements Channel {
  readonly #options: LegacyChannelOptions
  readonly #cancels: (() => void)[] = []
  #stream: LegacyStream | undefined
  #call: Call | undefined
  /** The journal id of the call, once it has asked. */
  #asked: string | undefined
  #cancelled = false
  #finished = false
  #isHandedOff = false
  #endsWithConnection = false

  constructor(options: LegacyChannelOptions) {
    this.#options = options
    if (!('open' in options.target)) this.#use(options.target)
  }

  /**
   * Sets the call that this channel answers. The call needs its channel to be made, so this comes after the
   * constructor.
   */
  serve(call: Call): Call {
    this.#call = call
    this.#asked = call.resumed?.id
    return call
  }

  get address(): string | undefined {
    const { target } = this.#options
    return 'open' in target ? target.address : undefined
  }

  get cancelled(): boolean {
    return this.#cancelled || this.#isHandedOff
  }

  get isHandedOff(): boolean {
    return this.#isHandedOff
  }

  get isConnected(): boolean {
    const { target } = this.#options
    return this.#stream?.connected ?? ('open' in target && !target.disconnected)
  }

  onCancel(listener: () => void): void {
    if (this.cancelled) return listener()
    this.#cancels.push(listener)
  }

  /** `notifications/cancelled`. A lost connection is no cancellation in this era. */
  cancel(): void {
    if (this.#cancelled || this.#finished) return
    this.#endQuestions()
    this.#cancelled = true
    for (const listener of this.#cancels) listener()
  }

  notify(method: string, params: Json): void {
    if (this.#cancelled || this.#finished) return
    const stream = this.#open()
    if (method === 'notifications/progress' && !this.#isAhead(stream, params['progress'])) return
    stream.send(notificationMessage(method, params))
  }

  async push(request: InputRequest, carried: CarriedCall): Promise<unknown> {
    const call = this.#call
    if (call === undefined || this.#cancelled || this.#finished) throw new ScopeClosed(`The question "${carried.key}"`)
    this.#asked = carried.id
    const stream = this.#open()
    return this.#options.pushes.push(call, request, carried, stream, {
      send: (...messages) => stream.send(...messages.map((message) => JSON.stringify(message))),
      elsewhere: this.#elsewhere,
    })
  }

  waitAnywhere(carried: Omit<CarriedCall, 'key'>): () => void {
    this.#endWithConnection()
    const call = this.#call
    if (call?.peer.session === undefined || this.cancelled || this.#finished) return () => {}
    this.#asked = carried.id
    return this.#options.pushes.waitAnywhere(call, carried, this.#elsewhere)
  }

  hangUp(retryMs: number): void {
    if (!this.#finished) this.#open().hangUp(retryMs)
  }

  /** Sends the response on the stream, if there is one; false leaves it to the caller. */
  finish(body: string): boolean {
    if (this.#isHandedOff) return true
    this.#endQuestions()
    this.#finished = true
    if (this.#stream === undefined) return this.#cancelled && this.#endEmpty()
    if (this.#cancelled) this.#stream.abandon()
    else this.#stream.finish(body)
    this.#options.streams.expireSoon(this.#stream)
    return true
  }

  /** A call that has no stream yet gets one when it goes to another instance: its client finds it there by its name. */
  get #elsewhere(): PushElsewhere {
    return {
      contents: () => ({ name: this.#open().name, ...this.#open().contents() }),
      handOff: () => this.#handOff(),
    }
  }

  /** Without a stream the client cannot come back for the answer, so the call ends with the connection. */
  #endWithConnection(): void {
    const { target } = this.#options
    if (this.#endsWithConnection || !('open' in target)) return
    this.#endsWithConnection = true
    target.onDisconnect(() => {
      if (this.#stream === undefined) this.cancel()
    })
  }

  /** Another instance answers: the connection ends, so that the client comes back and finds it. */
  #handOff(): void {
    if (this.#finished) return
    this.#finished = true
    this.#isHandedOff = true
    if (this.#asked !== undefined) this.#options.pushes.end(this.#asked)
    if (this.#stream !== undefined) this.#options.streams.release(this.#stream)
    for (const listener of this.#cancels) listener()
  }

  /** A cancelled request gets no response, so its answer is an empty stream. */
  #endEmpty(): boolean {
    const sink = this.#options.target as Sink
    sink.open(SSE_HEADERS)
    sink.end()
    return true
  }

  /** Questions end with their request: the client is notified of those that no longer need an answer. */
  #endQuestions(): void {
    if (this.#asked === undefined) return
    for (const requestId of this.#options.pushes.end(this.#asked)) {
      this.notify('notifications/cancelled', { requestId, reason: 'The request it belongs to has ended.' })
    }
  }

  /** Progress only increases; a handler that runs again from the top at another instance reports it again. */
  #isAhead(stream: LegacyStream, progress: unknown): boolean {
    if (typeof progress !== 'number' || progress <= (stream.progress ?? Number.NEGATIVE_INFINITY)) return false
    stream.progress = progress
    return true
  }

  #open(): LegacyStream {
    if (this.#stream !== undefined) return this.#stream
    const { streams, caller, target } = this.#options
    const stream = this.#use(streams.begin(caller, this.#call?.id ?? ''))
    stream.connect(target as Sink, 0)
    return stream
  }

  /** When the stream is evicted, the answer could not be delivered, so the call is cancelled. */
  #use(stream: LegacyStream): LegacyStream {
    stream.onEvicted = () => this.cancel()
    this.#stream = stream
    return stream
  }
}
