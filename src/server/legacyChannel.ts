/** The answer to a session-era request over HTTP: one JSON message, or a resumable stream that can carry questions too. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json } from '../protocol/index.ts'
import type { Call, CarriedCall, Channel } from './call.ts'
import type { LegacyStream } from './legacyStream.ts'
import type { LegacyStreams, Owner } from './legacyStreams.ts'
import type { Pushes } from './pushes.ts'
import { notificationMessage } from './results.ts'
import type { Sink } from './sink.ts'

export class LegacyChannel implements Channel {
  readonly #streams: LegacyStreams
  readonly #pushes: Pushes
  readonly #sink: Sink | undefined
  readonly #cancels: (() => void)[] = []
  #stream: LegacyStream | undefined
  #call: Call | undefined
  #cancelled = false
  readonly #owner: Owner

  /** Without a sink the call was revived, and `stream` is where its client waits or will come. */
  constructor(streams: LegacyStreams, pushes: Pushes, owner: Owner, way: Sink | LegacyStream) {
    this.#streams = streams
    this.#pushes = pushes
    this.#owner = owner
    if ('open' in way) this.#sink = way
    else this.#stream = way
  }

  /** The call this channel answers; it is made with the channel in hand. */
  serve(call: Call): Call {
    this.#call = call
    return call
  }

  get cancelled(): boolean {
    return this.#cancelled
  }

  onCancel(listener: () => void): void {
    this.#cancels.push(listener)
  }

  /** `notifications/cancelled`. A lost connection is no cancellation in this era. */
  cancel(): void {
    this.#cancelled = true
    if (this.#call !== undefined) this.#pushes.cancel(this.#call)
    for (const listener of this.#cancels) listener()
  }

  notify(method: string, params: Json): void {
    if (!this.#cancelled) this.#open().send(notificationMessage(method, params))
  }

  push(request: InputRequest, carried: CarriedCall): Promise<unknown> {
    const call = this.#call
    if (call === undefined) throw new TypeError('The channel serves no call yet.')
    const stream = this.#open()
    return this.#pushes.push(call, request, carried, stream.name, (message) => stream.send(JSON.stringify(message)))
  }

  hangUp(retryMs: number): void {
    this.#open().hangUp(retryMs)
  }

  /** Sends the response on the stream, if there is one. */
  finish(body: string): boolean {
    if (this.#stream === undefined) return false
    this.#stream.finish(this.#cancelled ? undefined : body)
    this.#streams.retire(this.#stream)
    return true
  }

  #open(): LegacyStream {
    if (this.#stream === undefined) {
      this.#stream = this.#streams.begin(this.#owner)
      if (this.#sink !== undefined) this.#stream.connect(this.#sink, 0)
    }
    return this.#stream
  }
}
