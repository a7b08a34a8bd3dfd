/** The tools of the gateway; one of them with its schema, and calls of it. */
import { useState } from 'preact/hooks'
import type { Field } from '../../gateway/internal.ts'
import { linkTo, type PageProps } from '../address.ts'
import { Live } from '../parts/live.tsx'
import { type Item, useTopic } from '../topic.ts'
import { jsonText } from './callTexts.ts'
import { ToolCall } from './toolCall.tsx'

export function Tools({ path: [opened], visitor }: PageProps) {
  const [find, setFind] = useState('')
  const query = opened ?? find
  const state = useTopic('tools', query === '' ? {} : { find: query })
  const { fault, count = 0, fitting = 0 } = state.items?.get('tools') ?? {}
  const tools = [...(state.items ?? [])].flatMap(([key, item]) => (key.startsWith('tool/') ? [item] : []))
  const tool = tools.find(({ name }) => name === opened)
  if (opened !== undefined)
    return (
      <Live title="Tool" state={state}>
        <a class="back" href={linkTo('tools')}>
          All tools
        </a>
        {tool === undefined ? (
          <p class="banner warn">No server offers this tool at present.</p>
        ) : (
          <Tool key={opened} tool={tool} mayCall={visitor.role === 'operator'} />
        )}
      </Live>
    )
  return (
    <Live title="Tools" state={state}>
      {typeof fault === 'string' && <p class="banner warn">{fault}</p>}
      <div class="filters">
        <label>
          Name or description has
          <input type="search" value={find} maxLength={200} onChange={(event) => setFind(event.currentTarget.value)} />
        </label>
      </div>
      <p class="quiet">
        {Number(fitting).toLocaleString('en')} of {Number(count).toLocaleString('en')} tools
        {tools.length < Number(fitting) && `, the first ${tools.length} of which are shown`}.
      </p>
      <ul class="card calls" aria-label="Tools">
        {tools.map(({ name, description }) => (
          <li key={String(name)} class="tool">
            <a href={linkTo('tools', String(name))}>
              <bdi>{String(name)}</bdi>
            </a>
            <span class="quiet">
              <bdi>{shortened(description)}</bdi>
            </span>
          </li>
        ))}
      </ul>
    </Live>
  )
}

function Tool({ tool, mayCall }: { readonly tool: Item; readonly mayCall: boolean }) {
  const { name, description, annotations, fields } = tool
  const hints = typeof annotations === 'object' && annotations !== null ? Object.entries(annotations) : []
  return (
    <>
      <section class="card" aria-label="About">
        <h2>
          <bdi>{String(name)}</bdi>
        </h2>
        <p class="message">
          <bdi>{shortened(description, 5000)}</bdi>
        </p>
        <p class="tags">
          {hints.map(([hint, value]) => (
            <span key={hint} class="tag">
              <bdi>{`${hint}: ${String(value)}`}</bdi>
            </span>
          ))}
        </p>
        <details>
          <summary>Schemas</summary>
          <pre>{jsonText({ inputSchema: tool['inputSchema'], outputSchema: tool['outputSchema'] })}</pre>
        </details>
      </section>
      {mayCall ? (
        <ToolCall name={String(name)} fields={(fields ?? undefined) as readonly Field[] | undefined} />
      ) : (
        <p class="quiet">Calling it from here needs the role operator.</p>
      )}
    </>
  )
}

function shortened(text: unknown, length = 300): string {
  const whole = typeof text === 'string' ? text : ''
  return whole.length > length ? `${whole.slice(0, length)} …` : whole
}
