/** What engines tell each other over the bell. */
import { addressOf, type Store } from './store.ts'

export type News =
  /** The owner of this task can see a change. */
  | { readonly kind: 'changed'; readonly task: string }
  /** Nobody may run this task any more, and its owner can see that. */
  | { readonly kind: 'over'; readonly task: string }
  /** This task waits in this queue; its owner may see a change. */
  | { readonly kind: 'ready'; readonly task: string; readonly queue: string }
  /** A new task waits in this queue. Nobody can be watching it yet. */
  | { readonly kind: 'made'; readonly queue: string }

/** Tells a task from others, and nobody what its id is. */
export function newsName(store: Store, id: string): string {
  return addressOf(store, id).toString('base64url').slice(0, 22)
}

export function writeNews(news: News): string {
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
export function readNews(text: string): News | undefined {
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
