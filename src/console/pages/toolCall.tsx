/** Calls a tool: its arguments, its questions in place, its result, and the messages on the wire. Each round is a request of its own. */
import { useState } from 'preact/hooks'
import type { Field } from '../../gateway/internal.ts'
import { act, sentenceOf } from '../api.ts'
import { contentOf, Fields, firstValues, type FormValue } from '../parts/fields.tsx'
import { asCommand, asCurl, asTypeScript, callMessage, jsonText, MAX_JSON } from './callTexts.ts'

interface AskedForm {
  readonly key: string
  readonly message: string
  /** Null where a form cannot hold the values. */
  readonly fields: readonly Field[] | null
}

interface ToolRound {
  readonly sent: object
  readonly received: readonly Readonly<Record<string, unknown>>[]
  readonly forms: readonly AskedForm[]
}

type FormValues = Readonly<Record<string, FormValue>>

interface ToolCallProps {
  readonly name: string
  /** Undefined where a form cannot hold the arguments. */
  readonly fields: readonly Field[] | undefined
}

export function ToolCall({ name, fields }: ToolCallProps) {
  const [values, setValues] = useState<FormValues>(() => firstValues(fields ?? []))
  const [json, setJson] = useState<string | undefined>(fields === undefined ? '{}' : undefined)
  const [token, setToken] = useState('')
  const [rounds, setRounds] = useState<readonly ToolRound[]>([])
  const [state, setState] = useState<{ readonly isBusy?: boolean; readonly trouble?: string }>({})
  const args = json === undefined ? contentOf(fields ?? [], values) : parsed(json)
  const last = rounds.at(-1)

  const send = async (before: readonly ToolRound[], more: object = {}) => {
    if (args === undefined) return setState({ trouble: 'The arguments are no JSON object.' })
    const message = callMessage(name, args, before.length + 1, more)
    setState({ isBusy: true })
    setRounds(before)
    try {
      const authorization = token === '' ? undefined : `Bearer ${token}`
      const { messages, forms } = await act('tools.call', { message, authorization })
      setRounds([
        ...before,
        { sent: message, received: messages as ToolRound['received'], forms: forms as ToolRound['forms'] },
      ])
      setState({})
    } catch (error) {
      setState({ trouble: sentenceOf(error) })
    }
  }
  const answer = (responses: object) => {
    const { requestState } = (last?.received.at(-1)?.['result'] ?? {}) as { readonly requestState?: unknown }
    void send(rounds, { inputResponses: responses, ...(requestState !== undefined && { requestState }) })
  }
  return (
    <>
      <section class="card" aria-label="Call">
        <h2>Call it</h2>
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault()
            void send([])
          }}
        >
          {json === undefined ? (
            <Fields
              fields={fields ?? []}
              values={values}
              onChange={(key, value) => setValues({ ...values, [key]: value })}
            />
          ) : (
            <div class="field">
              <label for="arguments">Arguments, as JSON</label>
              <textarea
                id="arguments"
                class="mono"
                rows={6}
                value={json}
                spellcheck={false}
                onInput={(event) => setJson(event.currentTarget.value)}
              />
            </div>
          )}
          <div class="field">
            <label for="token">
              Token of a caller <span class="quiet">(optional)</span>
            </label>
            <input
              id="token"
              type="password"
              autocomplete="off"
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          </div>
          <div class="tags">
            <button type="submit" disabled={state.isBusy === true}>
              Call
            </button>
            {fields !== undefined && (
              <button
                type="button"
                class="plain"
                onClick={() => setJson(json === undefined ? jsonText(args) : undefined)}
              >
                {json === undefined ? 'As JSON' : 'As a form'}
              </button>
            )}
          </div>
        </form>
        <div role="status">
          {state.isBusy === true && <p class="quiet">Waiting for the answer …</p>}
          {state.trouble !== undefined && <p class="banner bad">{state.trouble}</p>}
        </div>
      </section>
      {last !== undefined && last.forms.length > 0 && state.isBusy !== true && (
        <Questions key={rounds.length} forms={last.forms} answer={answer} />
      )}
      {last !== undefined && <Result round={last} />}
      {rounds.length > 0 && <Wire rounds={rounds} />}
      {args !== undefined && <Copies name={name} args={args} />}
    </>
  )
}

interface QuestionsProps {
  readonly forms: readonly AskedForm[]
  readonly answer: (responses: object) => void
}

function Questions({ forms, answer }: QuestionsProps) {
  const [values, setValues] = useState<readonly FormValues[]>(() =>
    forms.map(({ fields }) => firstValues(fields ?? [])),
  )
  const set = (index: number, key: string, value: FormValue) =>
    setValues(values.map((each, at) => (at === index ? { ...each, [key]: value } : each)))
  const accepted = () =>
    forms.map(({ key, fields }, index) => {
      const content = contentOf(fields ?? [], values[index] ?? {})
      return [key, fields === null ? { action: 'decline' } : { action: 'accept', content }] as const
    })
  return (
    <section class="card" aria-label="Questions">
      <h2>The tool asks</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          answer(Object.fromEntries(accepted()))
        }}
      >
        {forms.map(({ key, message, fields }, index) => (
          <div key={key} class="page">
            <p class="message">
              <bdi>{message}</bdi>
            </p>
            {fields === null ? (
              <p class="banner warn">A form cannot hold this answer, so that it is declined.</p>
            ) : (
              <Fields
                fields={fields}
                values={values[index] ?? {}}
                onChange={(name, value) => set(index, name, value)}
              />
            )}
          </div>
        ))}
        <div class="tags">
          <button type="submit">Answer</button>
          <button
            type="button"
            class="plain"
            onClick={() => answer(Object.fromEntries(forms.map(({ key }) => [key, { action: 'decline' }])))}
          >
            Decline
          </button>
        </div>
      </form>
    </section>
  )
}

function Result({ round: { received, forms } }: { readonly round: ToolRound }) {
  const { result, error } = received.at(-1) ?? {}
  if (forms.length > 0) return null
  const { content, isError } = (result ?? {}) as { readonly content?: unknown; readonly isError?: boolean }
  const texts = Array.isArray(content)
    ? content.map((part: { readonly text?: unknown }) => (typeof part.text === 'string' ? part.text : jsonText(part)))
    : []
  return (
    <section class="card" aria-label="Result">
      <h2>Result</h2>
      {error === undefined ? (
        texts.map((text, at) => (
          <pre key={at} class={isError === true ? 'banner bad' : ''}>
            {text.slice(0, MAX_JSON)}
          </pre>
        ))
      ) : (
        <pre class="banner bad">{jsonText(error)}</pre>
      )}
    </section>
  )
}

function Wire({ rounds }: { readonly rounds: readonly ToolRound[] }) {
  return (
    <details class="card">
      <summary>Messages on the wire</summary>
      {rounds.map(({ sent, received }, at) => (
        <div key={at}>
          <h3>Round {at + 1}: sent</h3>
          <pre>{jsonText(sent)}</pre>
          <h3>Round {at + 1}: received</h3>
          {received.map((message, index) => (
            <pre key={index}>{jsonText(message)}</pre>
          ))}
        </div>
      ))}
    </details>
  )
}

function Copies({ name, args }: { readonly name: string; readonly args: object }) {
  const texts = {
    curl: asCurl(name, args),
    'pannier call': asCommand(name, args),
    TypeScript: asTypeScript(name, args),
  }
  const [copied, setCopied] = useState('')
  return (
    <details class="card">
      <summary>The same call elsewhere</summary>
      {Object.entries(texts).map(([title, text]) => (
        <div key={title}>
          <div class="row">
            <h3>{title}</h3>
            <button
              type="button"
              class="plain"
              onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(title))}
            >
              {copied === title ? 'Copied' : 'Copy'}
            </button>
          </div>
          <pre>{text}</pre>
        </div>
      ))}
    </details>
  )
}

function parsed(json: string): object | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
