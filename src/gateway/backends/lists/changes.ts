/** Changes of a server's lists: the stream on which stateless-era servers report them, and the debounced refresh. */
import { backoffMs, type Json, sleep } from '../../../protocol/index.ts'
import { isUnreachable } from '../../errors.ts'
import { cancelledBy, type Link, ownRequest } from '../../links/link.ts'

export interface ListChangesOptions {
  readonly signal: AbortSignal
  /** Whether this link is still the one to listen on. */
  readonly isWanted: () => boolean
  readonly onNotification: (method: string, params: Json) => void
  /** Called when the stream has ended: the server may have restarted, or be gone. */
  readonly onEnded: () => void
}

const LISTS = { notifications: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true } }
const RETRY = { firstMs: 500, maxMs: 30_000 }
/** Refusals before giving up: a stopping server also refuses for a while. */
const MAX_REFUSALS = 5

/** Listens until it is no longer wanted or the server refuses. Not all servers have such a stream. */
export async function followListChanges(link: Link, options: ListChangesOptions): Promise<void> {
  const { signal, isWanted, onNotification, onEnded } = options
  const onCancel = cancelledBy(signal)
  for (let attempt = 1; isWanted() && !signal.aborted; attempt++) {
    const since = performance.now()
    const request = ownRequest('subscriptions/listen', LISTS, { onCancel, notify: onNotification, isEndless: true })
    const error = await link.request(request).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (performance.now() - since > RETRY.maxMs) attempt = 1
    const hasEnded = error === undefined || isUnreachable(error)
    if (!hasEnded && attempt >= MAX_REFUSALS) return
    if (hasEnded) onEnded()
    await sleep(backoffMs(attempt, RETRY), signal).catch(() => {})
  }
}

const PAUSE_MS = 500

/**
 * The notifications after which the lists are refreshed. The acknowledgement of a subscription is one of them, because
 * changes before it were not reported.
 */
export const LISTS_MAY_DIFFER =
  /^notifications\/(?:(?:tools|prompts|resources)\/list_changed|subscriptions\/acknowledged)$/

/** Debounces refreshes: one read at a time, with a pause between, however often the lists change. */
export class ListRefresher {
  readonly #read: () => Promise<void>
  readonly #signal: AbortSignal
  #isReading = false
  #isStale = false

  constructor(read: () => Promise<void>, signal: AbortSignal) {
    this.#read = read
    this.#signal = signal
  }

  request(): void {
    this.#isStale = true
    if (!this.#isReading) void this.#readUntilFresh()
  }

  async #readUntilFresh(): Promise<void> {
    this.#isReading = true
    while (this.#isStale && !this.#signal.aborted) {
      this.#isStale = false
      await this.#read()
      await sleep(PAUSE_MS, this.#signal).catch(() => {})
    }
    this.#isReading = false
  }
}
