/** The open questions that the viewer may answer, one of which is open, and what became of others. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Field } from '../../gateway/internal.ts'
import { linkTo, type PageProps } from '../address.ts'
import { act, sentenceOf } from '../api.ts'
import { contentOf, Fields, firstValues } from '../parts/fields.tsx'
import { Live } from '../parts/live.tsx'
import { type Item, textOf, useTopic } from '../topic.ts'

export function Inbox({ path: [id], visitor }: PageProps) {
  const state = useTopic('inbox')
  const items = [...(state.items ?? [])]
  const of = (kind: string): readonly Item[] => items.flatMap(([key, item]) => (key.startsWith(kind) ? [item] : []))
  const [open, closed] = [of('open/'), of('closed/').toReversed()]
  const { hasStore, hasMore } = state.items?.get('inbox') ?? {}
  const shown = open.find((item) => item['id'] === id)
  const became = closed.find((item) => item['id'] === id)
  return (
    <Live title="Inbox" state={state}>
      {hasStore === false && (
        <div class="empty">
          <strong>Questions are not stored here.</strong>
          <p>
            With <code>"store"</code> under <code>"gateway"</code> in the file, a call can wait for a person, who
            answers here.
          </p>
        </div>
      )}
      {hasStore === true && open.length === 0 && (
        <div class="empty">
          <strong>Nothing waits for you.</strong>
          <p>A question appears here when a call asks one that {visitor.name} may answer.</p>
        </div>
      )}
      {id !== undefined && shown === undefined && <Closed item={became} />}
      <div class={shown === undefined ? 'page' : 'columns'}>
        {open.length > 0 && (
          <ul class="list" aria-label="Open questions">
            {open.map((item) => (
              <li key={String(item['id'])}>
                <a href={linkTo('inbox', String(item['id']))} aria-current={item['id'] === id ? 'true' : undefined}>
                  <strong>
                    <bdi>{shortened(item['message'])}</bdi>
                  </strong>
                  <span class="quiet">
                    <bdi>{String(item['tool'])}</bdi> · <bdi>{textOf(item['caller'], 'a caller without a name')}</bdi> ·{' '}
                    {agoText(Number(item['askedAt']))}
                  </span>
                </a>
              </li>
            ))}
            {hasMore === true && <li class="quiet">There are more, which appear when these are answered.</li>}
          </ul>
        )}
        {shown !== undefined && <Question key={id} item={shown} mayAnswer={visitor.role !== 'viewer'} />}
      </div>
      {closed.length > 0 && (
        <section class="card" aria-labelledby="closed">
          <h2 id="closed">Closed while this page was open</h2>
          <ul class="list plain">
            {closed.map((item) => (
              <li key={String(item['id'])}>
                <bdi>{shortened(item['message'])}</bdi>
                <p class="quiet">
                  <bdi>{String(item['tool'])}</bdi> · <bdi>{String(item['sentence'])}</bdi>
                </p>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Live>
  )
}

/** The question of the address is not open. */
function Closed({ item }: { readonly item: Item | undefined }) {
  return (
    <p class="banner" role="status">
      {item === undefined ? (
        'This question is not open for you: it was answered, or others are asked.'
      ) : (
        <>
          <strong>This question is closed.</strong> <bdi>{String(item['sentence'])}</bdi>
        </>
      )}
    </p>
  )
}

function Question({ item, mayAnswer }: { readonly item: Item; readonly mayAnswer: boolean }) {
  const fields = item['fields'] as readonly Field[]
  const [values, setValues] = useState(() => firstValues(fields))
  const [sent, setSent] = useState<{ readonly sentence?: string }>()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const isSending = sent !== undefined && sent.sentence === undefined
  const answer = async (action: 'accept' | 'decline') => {
    setSent({})
    const content = action === 'accept' ? contentOf(fields, values) : {}
    await act('questions.answer', { id: item['id'], action, content }).catch((error: unknown) =>
      setSent({ sentence: sentenceOf(error) }),
    )
  }
  const by = Array.isArray(item['by']) ? item['by'].map(String) : []
  return (
    <section class="card" aria-labelledby="question">
      <a class="back" href={linkTo('inbox')}>
        All questions
      </a>
      <h2 id="question" tabIndex={-1} ref={heading}>
        <bdi>{String(item['tool'])}</bdi> asks
      </h2>
      <p class="message">
        <bdi>{String(item['message'])}</bdi>
      </p>
      <dl class="facts">
        <dt>Caller</dt>
        <dd>
          <bdi>{textOf(item['caller'], 'without a name')}</bdi>
        </dd>
        <dt>Asked</dt>
        <dd>{timeText(item['askedAt'])}</dd>
        {item['expiresAt'] !== null && (
          <>
            <dt>Until</dt>
            <dd>{timeText(item['expiresAt'])}</dd>
          </>
        )}
        {by.length > 0 && (
          <>
            <dt>For</dt>
            <dd>
              <bdi>{by.join(' or ')}</bdi>
              {item['fourEyes'] === true && ', but not the caller'}
            </dd>
          </>
        )}
      </dl>
      {item['fault'] !== undefined && <p class="banner bad">{textOf(item['fault'])}</p>}
      {mayAnswer ? (
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault()
            void answer('accept')
          }}
        >
          <Fields
            fields={fields}
            values={values}
            onChange={(key, value) => setValues((before) => ({ ...before, [key]: value }))}
          />
          <div role="alert">{sent?.sentence !== undefined && <p class="banner bad">{sent.sentence}</p>}</div>
          <div class="buttons">
            <button type="submit" disabled={isSending || item['fault'] !== undefined}>
              Accept
            </button>
            <button type="button" class="plain" disabled={isSending} onClick={() => void answer('decline')}>
              Decline
            </button>
          </div>
        </form>
      ) : (
        <p class="banner warn">You are here as viewer. Answering needs the role approver.</p>
      )}
    </section>
  )
}

const MAX_SHOWN = 160

function shortened(value: unknown): string {
  const text = String(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

function timeText(ms: unknown): string {
  return new Date(Number(ms)).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' })
}

function agoText(ms: number): string {
  const minutes = Math.max(0, Math.round((Date.now() - ms) / 60_000))
  if (minutes < 1) return 'just now'
  return minutes < 90 ? `${minutes} min ago` : `${Math.round(minutes / 60)} h ago`
}
