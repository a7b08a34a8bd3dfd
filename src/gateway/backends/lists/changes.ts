/** The stream on which a server of the stateless era tells that its lists have changed. Not all servers have one. */
import { backoffMs, type Json, sleep } from '../../../protocol/index.ts'
import { isUnreachable } from '../../errors.ts'
import { type Link, ownRequest } from '../../links/link.ts'

export interface ListChangesOptions {
  readonly signal: AbortSignal
  /** Whether the link is still the one to listen on. */
  readonly isWanted: () => boolean
  readonly onNotification: (method: string, params: Json) => void
  /** The stream has ended: the server may be another one, or gone. */
  readonly onEnded: () => void
}

const LISTS = { notifications: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true } }
const RETRY = { firstMs: 500, maxMs: 30_000 }
/** A server that is being stopped refuses as well, for a while. */
const MAX_REFUSALS = 5

/** Listens for as long as that is wanted, and the server does not refuse it. */
export async function followListChanges(link: Link, options: ListChangesOptions): Promise<void> {
  const { signal, isWanted, onNotification, onEnded } = options
  const onCancel = (listener: () => void): void => signal.addEventListener('abort', listener, { once: true })
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
