/** A page over the items of a topic: what is shown before they come, and while the gateway does not answer. */
import type { ComponentChildren } from 'preact'
import type { TopicState } from '../topic.ts'

export interface LiveProps {
  readonly title: string
  readonly state: TopicState
  readonly children: ComponentChildren
}

export function Live({ title, state: { items, trouble }, children }: LiveProps) {
  return (
    <>
      <h1>{title}</h1>
      <div role="status">{trouble !== undefined && <p class="banner bad">{trouble}</p>}</div>
      {items === undefined ? (
        trouble === undefined && <p class="quiet">Reading …</p>
      ) : (
        <div class={trouble ? 'stale' : ''}>{children}</div>
      )}
    </>
  )
}
