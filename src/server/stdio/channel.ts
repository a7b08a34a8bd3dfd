/** The channel of one request on a connection that all requests share. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { ScopeClosed } from '../../journal/index.ts'
import type { Json } from '../../protocol/index.ts'
import type { Call, CarriedCall, Channel } from '../call.ts'
import type { PushBroker } from '../legacy/push/broker.ts'
import { notificationMessage } from '../results.ts'

// A stdio connection is one stream, which no other process can resume.
const STREAM = { name: 'stdio', position: 0, connected: true, noteOwed: () => {} }

export class StdioChannel implements Channel {
  readonly #send: (message: string) => void
  readonly #notify: (message: string) => void
  readonly #pushes: PushBroker | undefined
  readonly #listeners: (() => void)[] = []
  #call: Call | undefined
  /** The journal id of the call, once it has asked. */
  #asked: string | undefined
  #cancelled = false
  #finished = false

  /** `notify` may drop messages that are not read. */
  constructor(send: (message: string) => void, notify: (message: string) => void, pushes: PushBroker | undefined) {
    this.#send = send
    this.#notify = notify
    this.#pushes = pushes
  }

  /**
   * Sets the call that this channel answers. The call needs its channel to be made, so this comes after the
   * constructor.
   */
  serve(call: Call): Call {
    this.#call = call
    return call
  }

  get cancelled(): boolean {
    return this.#cancelled
  }

  notify(method: string, params: Json): void {
    if (!this.#cancelled && !this.#finished) this.#notify(notificationMessage(method, params))
  }

  async push(request: InputRequest, carried: CarriedCall): Promise<unknown> {
    const call = this.#call
    const pushes = this.#pushes
    if (call === undefined || pushes === undefined || this.#cancelled || this.#finished)
      throw new ScopeClosed(`The question "${carried.key}"`)
    this.#asked = carried.id
    const send = (message: Json): void => this.#send(JSON.stringify(message))
    return pushes.push(call, request, carried, STREAM, { send })
  }

  onCancel(listener: () => void): void {
    if (this.#cancelled) return listener()
    this.#listeners.push(listener)
  }

  cancel(): void {
    if (this.#cancelled || this.#finished) return
    this.#endQuestions()
    this.#cancelled = true
    for (const listener of this.#listeners) listener()
  }

  /** Sends the response; a cancelled request gets none. */
  finish(body: string): void {
    this.#endQuestions()
    this.#finished = true
    if (!this.#cancelled) this.#send(body)
  }

  /** A question ends with its request: the client is notified of questions that need no answer. */
  #endQuestions(): void {
    if (this.#asked === undefined) return
    for (const requestId of this.#pushes?.end(this.#asked) ?? []) {
      const ended = { requestId, reason: 'The request it belongs to has ended.' }
      if (!this.#cancelled && !this.#finished) this.#send(notificationMessage('notifications/cancelled', ended))
    }
  }
}
