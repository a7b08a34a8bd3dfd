/** The items of a topic, live: one event stream for the page that is open. It is opened again when it breaks off. */
import { useEffect, useState } from 'preact/hooks'
import type { TopicChanges } from '../gateway/internal.ts'
import { RefusedRequest, request, sentenceOf } from './api.ts'

/** An item as the gateway sent it. */
export type Item = Readonly<Record<string, unknown>>

/** A member of an item as text; objects have none. */
export function textOf(value: unknown, absent = ''): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : absent
}

export interface TopicState {
  /** Undefined until the first ones have come. They stay while the gateway does not answer. */
  readonly items: ReadonlyMap<string, Item> | undefined
  /** Why nothing comes at present. */
  readonly trouble: string | undefined
}

const AGAIN_MS = 1500
const NOTHING: TopicState = { items: undefined, trouble: undefined }

export function useTopic(topic: string, query: Readonly<Record<string, string>> = {}): TopicState {
  const [state, setState] = useState(NOTHING)
  const search = new URLSearchParams({ topic, ...query }).toString()
  useEffect(() => {
    const left = new AbortController()
    setState(NOTHING)
    void follow(search, left.signal, setState)
    return () => left.abort()
  }, [search])
  return state
}

type Update = (change: (before: TopicState) => TopicState) => void

async function follow(search: string, signal: AbortSignal, update: Update): Promise<void> {
  while (!signal.aborted) {
    const trouble = await readStream(search, signal, update).then(
      () => sentenceOf(undefined),
      (error: unknown) => sentenceOf(error),
    )
    if (signal.aborted) return
    update(({ items }) => ({ items, trouble }))
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

async function readStream(search: string, signal: AbortSignal, update: Update): Promise<void> {
  const { body } = await request(`stream?${search}`, { signal })
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  if (reader === undefined) throw new RefusedRequest(500, 'This browser reads no streams.')
  let rest = ''
  let items: ReadonlyMap<string, Item> = new Map()
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const events = (rest + chunk.value).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      if (!event.startsWith('data: ')) continue
      items = changed(items, JSON.parse(event.slice(6)) as TopicChanges)
      const now = items
      update(() => ({ items: now, trouble: undefined }))
    }
  }
}

function changed(before: ReadonlyMap<string, Item>, { isWhole, set, gone }: TopicChanges): ReadonlyMap<string, Item> {
  const items = new Map(isWhole ? [] : before)
  for (const key of gone) items.delete(key)
  for (const [key, item] of Object.entries(set)) items.set(key, item)
  return items
}
