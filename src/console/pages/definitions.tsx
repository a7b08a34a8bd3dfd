/** What servers have changed since it was pinned, by words, with accept. */
import { useState } from 'preact/hooks'
import { act, sentenceOf } from '../api.ts'
import { Live } from '../parts/live.tsx'
import type { PageProps } from '../address.ts'
import { type Item, useTopic } from '../topic.ts'
import { wordDiff } from './wordDiff.ts'

export function Definitions({ visitor }: PageProps) {
  const state = useTopic('definitions')
  const { place, fault, waiting } = state.items?.get('pins') ?? {}
  const tools = [...(state.items ?? [])].filter(([key]) => key.startsWith('tool/'))
  const more = Number(waiting) - tools.length
  return (
    <Live title="Definitions" state={state}>
      <p class="lead">
        A tool with a new or changed definition is withheld until you accept it. Pinned in <code>{String(place)}</code>.
      </p>
      {typeof fault === 'string' && <p class="banner bad">{fault}</p>}
      {tools.length === 0 && fault === null && (
        <div class="empty">
          <strong>Nothing waits.</strong>
          <p>
            Servers with <code>"definitions": "pin"</code> or <code>"freeze"</code> are compared with what was pinned.
            What they change appears here.
          </p>
        </div>
      )}
      {tools.map(([key, item]) => (
        <Offer key={key} item={item} mayAccept={visitor.role === 'operator'} />
      ))}
      {more > 0 && <p class="quiet">{more} more, which appear when these are accepted.</p>}
    </Live>
  )
}

function Offer({ item, mayAccept }: { readonly item: Item; readonly mayAccept: boolean }) {
  const [sent, setSent] = useState<{ readonly sentence?: string }>()
  const { server, tool, version, change } = item
  const [was, news] = [textsIn(item['was']), textsIn(item['news'])]
  const parts = [...new Set([...Object.keys(was), ...Object.keys(news)])]
  const accept = async () => {
    setSent({})
    await act('definitions.accept', { server, tool, version }).catch((error: unknown) =>
      setSent({ sentence: sentenceOf(error) }),
    )
  }
  return (
    <section class="card" aria-label={String(item['name'])}>
      <header class="row">
        <div>
          <h2>
            <bdi>{String(item['name'])}</bdi>
          </h2>
          <p class="quiet">
            <bdi>{String(server)}</bdi> · <bdi>{String(change)}</bdi>
          </p>
        </div>
        {mayAccept && (
          <button
            type="button"
            disabled={sent !== undefined && sent.sentence === undefined}
            onClick={() => void accept()}
          >
            Accept
          </button>
        )}
      </header>
      {!mayAccept && <p class="quiet">Accepting needs the role operator.</p>}
      <div role="status">{sent?.sentence !== undefined && <p class="banner bad">{sent.sentence}</p>}</div>
      <dl class="diff">
        {parts.map((part) => (
          <div key={part}>
            <dt>
              <bdi>{part}</bdi>
            </dt>
            <dd>
              {wordDiff(was[part] ?? '', news[part] ?? '').map(({ kind, text }, at) =>
                kind === 'gone' ? (
                  <del key={at}>{text}</del>
                ) : kind === 'new' ? (
                  <ins key={at}>{text}</ins>
                ) : (
                  <span key={at}>{text}</span>
                ),
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function textsIn(value: unknown): Readonly<Record<string, string>> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return Object.fromEntries(entries.map(([name, text]) => [name, String(text)]))
}
