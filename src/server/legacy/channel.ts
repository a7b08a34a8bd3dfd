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
  /** The client's connection; or, for a resumed call, the stream that its client has or will reconnect to. */
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
   * Sets the call that this channel answers. It comes after the constructor, because a call is created with its
   * channel.
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
    if (this.#stream === undefined) return 'open' in target && !target.disconnected
    return this.#stream.finished ? !this.#stream.isUnseen : this.#stream.connected
  }

  onCancel(listener: () => void): void {
    if (this.cancelled) return listener()
    this.#cancels.push(listener)
  }

  /** Handles `notifications/cancelled`. In this era a lost connection is no cancellation. */
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

  /** Sends the response on the stream, if there is one; returns false if the caller of this method has to send it. */
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

  /**
   * The snapshot and the release of the call. A call without a stream gets one at its hand-off, by whose name its
   * client finds it.
   */
  get #elsewhere(): PushElsewhere {
    return {
      contents: () => ({ name: this.#open().name, ...this.#open().contents() }),
      handOff: () => this.#handOff(),
    }
  }

  /** Ends a call without a stream together with its connection, because its client cannot come back for the answer. */
  #endWithConnection(): void {
    const { target } = this.#options
    if (this.#endsWithConnection || !('open' in target)) return
    this.#endsWithConnection = true
    target.onDisconnect(() => {
      if (this.#stream === undefined) this.cancel()
    })
  }

  /**
   * Releases the call to another instance. The connection ends, so that the client comes back and finds the call there.
   */
  #handOff(): void {
    if (this.#finished) return
    this.#finished = true
    this.#isHandedOff = true
    if (this.#asked !== undefined) this.#options.pushes.end(this.#asked)
    if (this.#stream !== undefined) this.#options.streams.release(this.#stream)
    for (const listener of this.#cancels) listener()
  }

  /** Ends the connection of a cancelled request, which gets no response, with an empty stream. */
  #endEmpty(): boolean {
    const sink = this.#options.target as Sink
    sink.open(SSE_HEADERS)
    sink.end()
    return true
  }

  /** Ends the open questions with their request, and notifies the client. */
  #endQuestions(): void {
    if (this.#asked === undefined) return
    for (const requestId of this.#options.pushes.end(this.#asked)) {
      this.notify('notifications/cancelled', { requestId, reason: 'The request it belongs to has ended.' })
    }
  }

  /** Whether the progress increases: a handler that runs again from the top at another instance reports it again. */
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

  /** Uses the stream for the response. Its eviction cancels the call, whose response could not be delivered. */
  #use(stream: LegacyStream): LegacyStream {
    stream.onEvicted = () => this.cancel()
    this.#stream = stream
    return stream
  }
}
