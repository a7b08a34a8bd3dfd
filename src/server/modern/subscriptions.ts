/** `subscriptions/listen`: a stream of the change notifications that its client asked for. */
import { isObject, type Json, META, ProtocolError, unref } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call } from '../call.ts'
import type { ListName } from '../catalog/registry.ts'
import type { EventBus, ServerEvent } from '../lifecycle/eventBus.ts'
import { hiddenCaller } from '../limits/quotaCaller.ts'
import { WatchedResources } from '../limits/watchedResources.ts'
import type { Results } from '../results.ts'
import type { TaskService } from '../taskPort.ts'

export interface Filter {
  readonly toolsListChanged?: true
  readonly promptsListChanged?: true
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
  readonly taskIds?: readonly string[]
}

const LIST_FIELD = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const
const MAX_URIS = 1000
/** The longest URI or id to watch. It is held in memory as long as the subscription. */
export const MAX_WATCHED_URI_CHARS = 2048
/** All that one subscription, or one session, watches. */
export const MAX_WATCHED_CHARS = 65_536

/** Which resources a caller may watch. */
export interface WatchGuard {
  /** Throws if another token of the caller would help. */
  assertWatchable(call: Call, uri: string): void
  canRead(principal: Principal | undefined, uri: string): boolean
  /** Whether the caller may know of an entry of a list. */
  canSee(principal: Principal | undefined, list: ListName, entry: string): boolean
}

/** Ends a stream whose life is limited. */
export function afterLife(lifeMs: number | undefined, end: () => void): ReturnType<typeof setTimeout> | undefined {
  return lifeMs === undefined ? undefined : unref(setTimeout(end, lifeMs))
}

export class Subscriptions {
  readonly #bus: EventBus
  readonly #results: Results
  readonly #guard: WatchGuard
  readonly #tasks: () => TaskService | undefined
  readonly #watched: WatchedResources
  /** The caller whose quota the watched resources of a call count in. */
  readonly #callerOf: (call: Call) => string | undefined
  readonly #lifeMs: number | undefined
  readonly #closers = new Set<(isCancelled: boolean) => void>()
  #isClosed = false

  constructor(
    bus: EventBus,
    results: Results,
    guard: WatchGuard,
    tasks: () => TaskService | undefined = () => undefined,
    watched = new WatchedResources(),
    callerOf: (call: Call) => string | undefined = () => undefined,
    lifeMs?: number,
  ) {
    this.#lifeMs = lifeMs
    this.#callerOf = callerOf
    this.#bus = bus
    this.#results = results
    this.#guard = guard
    this.#tasks = tasks
    this.#watched = watched
  }

  /** Sends notifications until the client cancels or the server drains; then gives the result. */
  async listen(call: Call): Promise<string> {
    const asked = readFilter(call.params['notifications'])
    for (const uri of asked.resourceSubscriptions ?? []) this.#guard.assertWatchable(call, uri)
    const mark = { _meta: { [META.subscription]: call.id } }
    const ended = (): string => this.#results.complete({ _meta: mark._meta }, call.peer)
    const sendTask = (task: Json): void =>
      call.channel.notify('notifications/tasks', {
        ...task,
        _meta: { ...(task['_meta'] as Json | undefined), ...mark._meta },
      })
    const tasks = asked.taskIds && (await this.#tasks()?.listen(call, asked.taskIds, sendTask))
    // Cancellation: servers MUST send this for a stream that they end, and Graceful Closure wants the result after it.
    const tearDown = (): void => call.channel.notify('notifications/cancelled', { ...mark, requestId: call.id })
    const acknowledge = (notifications: Filter): void =>
      call.channel.notify('notifications/subscriptions/acknowledged', { ...mark, notifications })
    if (call.channel.cancelled || this.#isClosed) {
      // Clients take an end before the acknowledgement for a failure, and do not listen again.
      if (!call.channel.cancelled) {
        acknowledge({})
        tearDown()
      }
      tasks?.stop()
      return ended()
    }
    const caller = hiddenCaller(this.#callerOf(call) ?? '')
    const uris = this.#watched.add(new Set(asked.resourceSubscriptions), caller)
    const filter: Filter = {
      ...asked,
      ...(asked.resourceSubscriptions !== undefined && { resourceSubscriptions: uris }),
      ...(asked.taskIds !== undefined && { taskIds: tasks?.taskIds ?? [] }),
    }
    acknowledge(filter)
    tasks?.begin()
    return new Promise((resolve) => {
      const stop = this.#bus.subscribe((event) => {
        const news = notificationFor(event, filter, call.principal, this.#guard)
        if (news !== undefined) call.channel.notify(news.method, { ...news.params, ...mark })
      })
      const close = (isCancelled: boolean): void => {
        if (!this.#closers.delete(close)) return
        clearTimeout(timer)
        if (!isCancelled) tearDown()
        stop()
        this.#watched.remove(uris, caller)
        tasks?.stop()
        resolve(ended())
      }
      const timer = afterLife(this.#lifeMs, () => close(false))
      this.#closers.add(close)
      call.channel.onCancel(() => close(true))
    })
  }

  /** Ends every subscription with its result, including later ones. */
  close(): void {
    this.#isClosed = true
    for (const close of this.#closers) close(false)
  }

  get size(): number {
    return this.#closers.size
  }
}

/** The notification of an event, if the filter includes it and the client may see its subject. */
export function notificationFor(
  event: ServerEvent,
  filter: Filter,
  principal: Principal | undefined,
  guard: WatchGuard,
): { method: string; params: Json } | undefined {
  if (event.kind === 'changed' && filter[LIST_FIELD[event.list]]) {
    if (event.entry !== undefined && !guard.canSee(principal, event.list, event.entry)) return undefined
    return { method: `notifications/${event.list}/list_changed`, params: {} }
  }
  if (event.kind === 'updated' && filter.resourceSubscriptions?.includes(event.uri)) {
    if (!guard.canRead(principal, event.uri)) return undefined
    return { method: 'notifications/resources/updated', params: { uri: event.uri } }
  }
  return undefined
}

function readFilter(notifications: unknown): Filter {
  if (!isObject(notifications)) throw new ProtocolError('PARAMS_INVALID', '"params.notifications" must be an object.')
  const wanted = Object.values(LIST_FIELD).filter((field) => notifications[field] === true)
  const lists = Object.fromEntries(wanted.map((field) => [field, true as const]))
  return {
    ...lists,
    ...namesIn(notifications, 'resourceSubscriptions'),
    ...namesIn(notifications, 'taskIds'),
  }
}

/** The URIs or task ids to watch. They are held in memory as long as the subscription, so they have limits. */
function namesIn(notifications: Json, field: 'resourceSubscriptions' | 'taskIds'): Filter {
  const names = notifications[field]
  if (names === undefined) return {}
  const isName = (name: unknown): name is string => typeof name === 'string' && name.length <= MAX_WATCHED_URI_CHARS
  if (!Array.isArray(names) || names.length > MAX_URIS || !names.every(isName)) {
    const sentence = `a list of at most ${MAX_URIS} strings of at most ${MAX_WATCHED_URI_CHARS} characters`
    throw new ProtocolError('PARAMS_INVALID', `"${field}" must be ${sentence}.`)
  }
  const chars = names.reduce((sum, name) => sum + name.length, 0)
  if (chars <= MAX_WATCHED_CHARS) return { [field]: names }
  throw new ProtocolError('PARAMS_INVALID', `"${field}" has more than ${MAX_WATCHED_CHARS} characters; listen twice.`)
}
