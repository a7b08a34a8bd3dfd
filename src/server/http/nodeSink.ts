import type { ServerResponse } from 'node:http'
import type { Sink } from './sink.ts'

// A client that does not read must not make us keep what it leaves.
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** A streamed answer on `node:http`. */
export class NodeSink implements Sink {
  readonly #res: ServerResponse

  constructor(res: ServerResponse) {
    this.#res = res
  }

  get gone(): boolean {
    return this.#res.destroyed && !this.#res.writableFinished
  }

  open(headers: Readonly<Record<string, string>>): void {
    if (this.#res.headersSent) return
    this.#res.writeHead(200, headers)
    this.#res.flushHeaders()
  }

  write(text: string): void {
    if (this.#res.destroyed || this.#res.writableEnded) return
    this.#res.write(text)
    if (this.#res.writableLength > MAX_UNREAD_BYTES) this.#res.destroy()
  }

  end(): void {
    this.#res.end()
  }

  onGone(listener: () => void): void {
    if (this.gone) return listener()
    this.#res.once('close', () => {
      if (!this.#res.writableFinished) listener()
    })
  }
}
