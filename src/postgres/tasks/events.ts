/** What engines tell each other over the bell. */
import { addressDigest, type PostgresTaskStore } from './store.ts'

export type EngineEvent =
  /** The owner of this task can see a change. */
  | { readonly kind: 'changed'; readonly task: string }
  /** Nobody may run this task any more, and its owner can see that. */
  | { readonly kind: 'over'; readonly task: string }
  /** This task waits in this queue; its owner may see a change. */
  | { readonly kind: 'ready'; readonly task: string; readonly queue: string }
  /** A new task waits in this queue. Nobody can be watching it yet. */
  | { readonly kind: 'made'; readonly queue: string }

/** Tells a task from others, and nobody what its id is. */
export function taskKey(store: PostgresTaskStore, id: string): string {
  return addressDigest(store, id).toString('base64url').slice(0, 22)
}

export function encodeEvent(news: EngineEvent): string {
  switch (news.kind) {
    case 'changed':
    case 'over':
      return `${news.kind} ${news.task}`
    case 'ready':
      return `${news.kind} ${news.task} ${news.queue}`
    case 'made':
      return `${news.kind} ${news.queue}`
    default:
      return news satisfies never
  }
}

/** Undefined for what a newer version says. */
export function decodeEvent(text: string): EngineEvent | undefined {
  const [kind, first = '', second = ''] = text.split(' ')
  switch (kind) {
    case 'changed':
    case 'over':
      return { kind, task: first }
    case 'ready':
      return { kind, task: first, queue: second }
    case 'made':
      return { kind, queue: first }
    default:
      return undefined
  }
}
