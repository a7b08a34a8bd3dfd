/**
 * A map whose entries each have an expiry time. An index by the second of expiry lets the sweep look at seconds and not
 * at every entry, at most once a second.
 */
export class ExpiringMap<Value> {
  readonly #entries = new Map<string, { value: Value; expiresAtMs: number }>()
  readonly #bySecond = new Map<number, Set<string>>()
  readonly #clock: () => number
  readonly #onRemoved: (value: Value) => void
  #sweptSecond = Number.NEGATIVE_INFINITY

  /** `onRemoved` is called with each value that is deleted, replaced or swept. */
  constructor(clock: () => number, onRemoved: (value: Value) => void = () => {}) {
    this.#clock = clock
    this.#onRemoved = onRemoved
  }

  /** The number of entries after a sweep of the expired ones. */
  get size(): number {
    this.#sweep()
    return this.#entries.size
  }

  get(id: string): Value | undefined {
    const entry = this.#entries.get(id)
    return entry && this.#clock() < entry.expiresAtMs ? entry.value : undefined
  }

  set(id: string, value: Value, expiresAtMs: number): void {
    this.#sweep()
    this.delete(id)
    this.#entries.set(id, { value, expiresAtMs })
    const second = Math.ceil(expiresAtMs / 1000)
    const ids = this.#bySecond.get(second)
    if (ids) ids.add(id)
    else this.#bySecond.set(second, new Set([id]))
  }

  /** The entries that have not expired. */
  *live(): Generator<readonly [id: string, value: Value, expiresAtMs: number], void> {
    const now = this.#clock()
    for (const [id, { value, expiresAtMs }] of this.#entries) if (now < expiresAtMs) yield [id, value, expiresAtMs]
  }

  delete(id: string): void {
    const entry = this.#entries.get(id)
    if (!entry) return
    this.#entries.delete(id)
    const second = Math.ceil(entry.expiresAtMs / 1000)
    const ids = this.#bySecond.get(second)
    ids?.delete(id)
    if (ids?.size === 0) this.#bySecond.delete(second)
    this.#onRemoved(entry.value)
  }

  #sweep(): void {
    const now = Math.floor(this.#clock() / 1000)
    if (now <= this.#sweptSecond) return
    this.#sweptSecond = now
    for (const [second, ids] of this.#bySecond) {
      if (second > now) continue
      for (const id of ids) this.delete(id)
    }
  }
}

const SWEEP_EVERY_MS = 30_000

/** A function that runs `sweep` when it is called, but at most every 30 seconds: expired rows go without a timer. */
export function makeSweeper(clock: () => number, sweep: (nowMs: number) => void): () => void {
  let next = Number.NEGATIVE_INFINITY
  return () => {
    const now = clock()
    if (now < next) return
    next = now + SWEEP_EVERY_MS
    sweep(now)
  }
}
