/** The events that engines send each other through the notifier. */
import { addressDigest, type PostgresTaskStore } from './store.ts'

export type EngineEvent =
  /** The owner of this task can see a change. */
  | { readonly kind: 'changed'; readonly task: string }
  /** The task was cancelled: its run has lost the lease, and its owner can see a change. */
  | { readonly kind: 'cancelled'; readonly task: string }
  /** The task is ready in this queue; its owner may see a change. */
  | { readonly kind: 'ready'; readonly task: string; readonly queue: string }
  /** A new task is ready in this queue. It cannot have watchers yet. */
  | { readonly kind: 'created'; readonly queue: string }

/** Identifies a task in events without revealing its id. */
export function taskKey(store: PostgresTaskStore, id: string): string {
  return addressDigest(store, id).toString('base64url').slice(0, 22)
}

export function encodeEvent(event: EngineEvent): string {
  switch (event.kind) {
    case 'changed':
    case 'cancelled':
      return `${event.kind} ${event.task}`
    case 'ready':
      return `${event.kind} ${event.task} ${event.queue}`
    case 'created':
      return `${event.kind} ${event.queue}`
    default:
      return event satisfies never
  }
}

/** Undefined for an event that only a newer version knows. */
export function decodeEvent(text: string): EngineEvent | undefined {
  const [kind, first = '', second = ''] = text.split(' ')
  switch (kind) {
    case 'changed':
    case 'cancelled':
      return { kind, task: first }
    case 'ready':
      return { kind, task: first, queue: second }
    case 'created':
      return { kind, queue: first }
    default:
      return undefined
  }
}
