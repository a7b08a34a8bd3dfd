import { unref } from '../../protocol/index.ts'
import type { ListName } from '../catalog/registry.ts'

/** The messages between instances of one server. Plain JSON, so any message broker can carry them. */
export type ServerEvent =
  /** `entry`: the changed entry, if it has a rule. */
  | { readonly kind: 'changed'; readonly list: ListName; readonly entry?: string }
  | { readonly kind: 'updated'; readonly uri: string }
  | { readonly kind: 'session-ended'; readonly session: string; readonly expiresAt: number }
  /** `holder` is the same for all sessions of one caller. */
  | {
      readonly kind: 'session-noted'
      readonly session: string
      readonly note: SessionNote
      readonly holder?: string
    }
  /** A client cancelled a request, which may run at any instance. */
  | { readonly kind: 'cancelled'; readonly session: string; readonly request: string | number }
  /** The owner of a call or a stream is wanted, because the instance that began it is gone. */
  | { readonly kind: 'owner-wanted'; readonly key: string }
  /** That instance has resumed these. */
  | {
      readonly kind: 'owner-changed'
      readonly keys: readonly string[]
      readonly to: readonly [id: string, url: string | null]
    }
  /** That instance is gone without notice. */
  | { readonly kind: 'instance-lost'; readonly instance: readonly [id: string, url: string | null] }
  /** An answer for the instance that asked; sealed. */
  | { readonly kind: 'answered'; readonly call: string; readonly question: string; readonly answer: string }
  | { readonly kind: 'answer-taken'; readonly question: string }

/** Soft facts of a session-era session. */
export type SessionNote = { readonly level: string } | { readonly subscribe: string } | { readonly unsubscribe: string }

/** Publish and subscribe between instances. Events also reach the publisher. Order and delivery are best effort. */
export interface EventBus {
  publish(event: ServerEvent): void
  /** Returns the function that ends the subscription. */
  subscribe(listener: (event: ServerEvent) => void): () => void
}

/** A bus within one process. */
export function localBus(): EventBus {
  const listeners = new Set<(event: ServerEvent) => void>()
  return {
    publish: (event) => {
      for (const listener of listeners) listener(event)
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** The time as a debounced bus sees it. */
export interface BusTimers {
  readonly now: () => number
  /** Runs a function later; returns the function that cancels it. */
  readonly later: (run: () => void, ms: number) => () => void
}

const TIMERS: BusTimers = {
  now: () => performance.now(),
  later: (run, ms) => {
    const timer = unref(setTimeout(run, ms))
    return () => clearTimeout(timer)
  },
}

export interface DebounceOptions {
  /** Time without a further change before listeners get it. */
  readonly quietMs: number
  /** Maximum delay. */
  readonly maxMs: number
}

/** A bus with debounced changes of lists: instances that change together notify each client once. */
export function debouncedChanges(bus: EventBus, options: DebounceOptions, timers = TIMERS): EventBus {
  const heard = localBus()
  const waiting = new Map<string, { readonly until: number; readonly cancel: () => void }>()
  bus.subscribe((event) => {
    if (event.kind !== 'changed') return heard.publish(event)
    const key = `${event.list} ${event.entry ?? ''}`
    const now = timers.now()
    const { until = now + options.maxMs, cancel } = waiting.get(key) ?? {}
    cancel?.()
    const tell = (): void => {
      waiting.delete(key)
      heard.publish(event)
    }
    waiting.set(key, { until, cancel: timers.later(tell, Math.min(options.quietMs, until - now)) })
  })
  return { publish: (event) => bus.publish(event), subscribe: (listener) => heard.subscribe(listener) }
}
