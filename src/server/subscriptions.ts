/** `subscriptions/listen`: a long answer that carries only the changes its client asked for. */
import { isObject, type Json, META, ProtocolError } from '../protocol/index.ts'
import type { Call } from './call.ts'
import type { EventBus, ServerEvent } from './eventBus.ts'
import type { Results } from './results.ts'

export interface Filter {
  readonly toolsListChanged?: true
  readonly promptsListChanged?: true
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

const LIST_FIELD = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const
const MAX_URIS = 1000
/** The longest address somebody may watch: it is kept for as long as they do. */
export const MAX_URI_CHARS = 2048

export class Subscriptions {
  readonly #bus: EventBus
  readonly #results: Results
  readonly #closers = new Set<() => void>()

  constructor(bus: EventBus, results: Results) {
    this.#bus = bus
    this.#results = results
  }

  /** Answers when the server goes away; until then notifications flow. */
  listen(call: Call): Promise<string> {
    const filter = readFilter(call.params['notifications'])
    const mark = { _meta: { [META.subscription]: call.id } }
    const ended = (): string => this.#results.complete({ _meta: mark._meta }, call.peer)
    if (call.channel.cancelled) return Promise.resolve(ended())
    call.channel.notify('notifications/subscriptions/acknowledged', { ...mark, notifications: filter })
    return new Promise((resolve) => {
      const stop = this.#bus.subscribe((event) => {
        const news = newsFor(event, filter)
        if (news !== undefined) call.channel.notify(news.method, { ...news.params, ...mark })
      })
      const close = (): void => {
        stop()
        this.#closers.delete(close)
        resolve(ended())
      }
      this.#closers.add(close)
      call.channel.onCancel(close)
    })
  }

  /** Ends every subscription in good order. */
  close(): void {
    for (const close of this.#closers) close()
  }

  get size(): number {
    return this.#closers.size
  }
}

/** The notification an event means to someone with this filter, if any. */
export function newsFor(event: ServerEvent, filter: Filter): { method: string; params: Json } | undefined {
  if (event.kind === 'changed' && filter[LIST_FIELD[event.list]]) {
    return { method: `notifications/${event.list}/list_changed`, params: {} }
  }
  if (event.kind === 'updated' && filter.resourceSubscriptions?.includes(event.uri)) {
    return { method: 'notifications/resources/updated', params: { uri: event.uri } }
  }
  return undefined
}

function readFilter(notifications: unknown): Filter {
  if (!isObject(notifications)) throw new ProtocolError('PARAMS_INVALID', '"params.notifications" must be an object.')
  const wanted = Object.values(LIST_FIELD).filter((field) => notifications[field] === true)
  const lists = Object.fromEntries(wanted.map((field) => [field, true as const]))
  const uris = notifications['resourceSubscriptions']
  if (uris === undefined) return lists
  const isAddress = (uri: unknown): boolean => typeof uri === 'string' && uri.length <= MAX_URI_CHARS
  if (!Array.isArray(uris) || uris.length > MAX_URIS || !uris.every(isAddress)) {
    throw new ProtocolError(
      'PARAMS_INVALID',
      `"resourceSubscriptions" must be a list of at most ${MAX_URIS} addresses of ${MAX_URI_CHARS} characters.`,
    )
  }
  return { ...lists, resourceSubscriptions: uris }
}
