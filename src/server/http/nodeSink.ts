/** Streams responses on `node:http`: text of this server, or bytes of another server. */
import type { ServerResponse } from 'node:http'
import { unref } from '../../protocol/index.ts'
import { type AnswerHead, type ByteSink, type HostSink, MAX_UNREAD_BYTES, readWithinMs } from './exchange.ts'

/** Closes the connection unless its client reads the written bytes in time. */
export function giveUpUnread(res: ServerResponse): void {
  const { writableLength } = res
  if (writableLength === 0 || res.destroyed) return
  const timer = unref(setTimeout(() => res.destroy(), readWithinMs(writableLength)))
  const stop = (): void => {
    clearTimeout(timer)
    res.off('drain', stop).off('close', stop)
  }
  res.on('drain', stop).on('close', stop)
}

/** A streamed answer on `node:http`. */
export class NodeSink implements HostSink {
  readonly #res: ServerResponse
  /** A list of our own, because Node warns of more than ten listeners, and a batch may have more calls. */
  #onDisconnect: (() => void)[] | undefined
  #hasUnread = false
  #address: string | undefined

  constructor(res: ServerResponse) {
    this.#res = res
  }

  get address(): string | undefined {
    return this.#address ?? this.#res.req.socket.remoteAddress
  }

  set address(address: string | undefined) {
    this.#address = address
  }

  get disconnected(): boolean {
    return this.#res.destroyed && !this.#res.writableFinished
  }

  setHeaders(headers: Readonly<Record<string, string>>): void {
    this.#res.setHeaders(new Map(Object.entries(headers)))
  }

  open(headers: Readonly<Record<string, string>>): void {
    if (this.#res.headersSent) return
    this.#res.writeHead(200, headers)
    // One write for the head and the first event: a client whose server is killed needs an event to resume the stream.
    process.nextTick(() => {
      if (!this.#res.writableEnded) this.#res.flushHeaders()
    })
  }

  write(text: string): void {
    if (this.#res.destroyed || this.#res.writableEnded) return
    if (!this.#res.write(text)) this.#limitUnread()
    if (this.#res.writableLength > MAX_UNREAD_BYTES) this.#res.destroy()
  }

  end(): void {
    this.#res.end()
    giveUpUnread(this.#res)
  }

  openBytes(head: AnswerHead, onDrain: () => void): ByteSink {
    return new NodeByteSink(this.#res, head, onDrain)
  }

  #limitUnread(): void {
    if (this.#hasUnread) return // its timer runs
    this.#hasUnread = true
    giveUpUnread(this.#res)
    this.#res.once('drain', () => (this.#hasUnread = false))
  }

  onDisconnect(listener: () => void): void {
    if (this.disconnected) return listener()
    if (this.#onDisconnect !== undefined) return void this.#onDisconnect.push(listener)
    const listeners = [listener]
    this.#onDisconnect = listeners
    this.#res.once('close', () => {
      if (!this.#res.writableFinished) for (const each of listeners) each()
    })
  }
}

/** Up to this size bytes are written as latin1 text, which Node sends in one write with the head. */
const MAX_TEXT_BYTES = 16_384

/** The bytes of another server's answer on `node:http`. */
class NodeByteSink implements ByteSink {
  readonly #res: ServerResponse
  readonly #head: AnswerHead
  readonly #onDrain: () => void

  constructor(res: ServerResponse, head: AnswerHead, onDrain: () => void) {
    this.#res = res
    this.#head = head
    this.#onDrain = onDrain
  }

  flush(): void {
    this.#start()
    this.#res.flushHeaders()
  }

  write(chunk: Buffer): boolean {
    if (this.#res.destroyed) return true
    this.#start()
    if (this.#res.write(chunk)) return true
    this.#res.once('drain', this.#onDrain)
    giveUpUnread(this.#res)
    return false
  }

  end(last?: Buffer): void {
    if (this.#res.destroyed) return
    this.#start()
    if (last === undefined) this.#res.end()
    else if (last.length <= MAX_TEXT_BYTES) this.#res.end(last.toString('latin1'), 'latin1')
    else this.#res.end(last)
    giveUpUnread(this.#res)
  }

  abort(): void {
    this.#res.destroy()
  }

  #start(): void {
    if (!this.#res.headersSent) this.#res.writeHead(this.#head.status, this.#head.headers as string[])
  }
}
