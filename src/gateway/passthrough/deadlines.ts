/**
 * Timeouts of requests. All have the same timeout, so the oldest expires first and one timer is enough. A timer for
 * each would cost as much as reading the headers.
 *
 * The requests form a linked list. A Map would be slower and keep memory: V8 replaces its table often, each old table
 * links to the next, and a promoted table retains all later tables and their requests until the next full garbage
 * collection. That costs a quarter of a passed-through request.
 */
export interface LimitedRequest {
  /** Its node in the list. Only the list uses it. */
  queued: QueuedRequest | undefined
  /** Called when the request has timed out. */
  late(): void
}

/** The deadline of a request, linked to those before and after it. */
interface QueuedRequest {
  readonly request: LimitedRequest
  readonly lateAt: number
  before: QueuedRequest | undefined
  after: QueuedRequest | undefined
}

export class Deadlines {
  readonly #timeoutMs: number
  #first: QueuedRequest | undefined
  #last: QueuedRequest | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  add(request: LimitedRequest): void {
    const lateAt = performance.now() + this.#timeoutMs
    const added: QueuedRequest = { request, lateAt, before: this.#last, after: undefined }
    request.queued = added
    if (this.#last === undefined) this.#first = added
    else this.#last.after = added
    this.#last = added
    this.#timer ??= setTimeout(this.#look, this.#timeoutMs)
  }

  delete(request: LimitedRequest): void {
    const removed = request.queued
    if (removed === undefined) return
    const { before, after } = removed
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    removed.before = undefined
    removed.after = undefined
    request.queued = undefined
    if (this.#first === undefined) this.#timer?.unref() // may fire without a request, so it must not keep the process alive
  }

  readonly #look = (): void => {
    this.#timer = undefined
    const now = performance.now()
    for (let first = this.#first; first !== undefined; first = this.#first) {
      if (first.lateAt > now) {
        this.#timer = setTimeout(this.#look, Math.ceil(first.lateAt - now))
        return
      }
      this.delete(first.request)
      first.request.late()
    }
  }
}
