import type { RequestId } from './jsonRpc.ts'

/**
 * What is under way, by the id of its request; a Map whose entries come and go quickly.
 *
 * V8 replaces the table of such a Map often, and a replaced table leads to the next one. One of them that has grown old keeps all
 * that came after it, with what was in them, until the next full garbage collection: of a server on standard input and output
 * that was a sixth of the time. So each entry is in a box of its own, which is emptied when it leaves.
 */
export class OpenRequests<T> {
  readonly #boxes = new Map<RequestId, { value: T | undefined }>()

  get size(): number {
    return this.#boxes.size
  }

  set(id: RequestId, value: T): void {
    this.delete(id)
    this.#boxes.set(id, { value })
  }

  get(id: RequestId): T | undefined {
    return this.#boxes.get(id)?.value
  }

  has(id: RequestId): boolean {
    return this.#boxes.has(id)
  }

  /** Returns whether it was there. */
  delete(id: RequestId): boolean {
    const box = this.#boxes.get(id)
    if (box === undefined) return false
    box.value = undefined
    return this.#boxes.delete(id)
  }

  *values(): Generator<T> {
    for (const { value } of this.#boxes.values()) if (value !== undefined) yield value
  }
}
