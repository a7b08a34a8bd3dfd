/** A page over the items of a topic: what is shown before they come, and while the gateway does not answer. */
import type { ComponentChildren } from 'preact'
import type { TopicState } from '../topic.ts'

export interface LiveProps {
  readonly title: string
  readonly state: TopicState
  readonly children: ComponentChildren
}

export function Live({ title, state: { items, trouble }, children }: LiveProps) {
  const isReading = items === undefined && trouble === undefined
  return (
    <>
      <h1>{title}</h1>
      <div role="status">
        {trouble !== undefined && <p class="banner bad">{trouble}</p>}
        {isReading && <p class="quiet">Reading …</p>}
      </div>
      {items !== undefined && <div class={trouble === undefined ? 'page' : 'page stale'}>{children}</div>}
    </>
  )
}
