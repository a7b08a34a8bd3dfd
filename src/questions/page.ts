/**
 * The page of a question: plain HTML without scripts. Everything that a server or a person has written is shown as
 * text. The server's words are in a frame, so that they cannot pass for a part of the page.
 */
import type { BooleanField, ChoiceField, ChoicesField, Field, NumberField, TextField } from './fields.ts'
import { INPUT_PREFIX, inputsByName } from './formData.ts'
import { Html, html } from './html.ts'
import { timeText } from './outcome.ts'
import { plainLine, plainText } from './safeText.ts'

export interface QuestionView {
  readonly server: string
  readonly tool: string
  readonly message: string
  readonly fields: readonly Field[]
  /** Milliseconds since 1970; null without a limit. */
  readonly expiresAt: number | null
  /** The input that was refused. */
  readonly entered?: URLSearchParams | undefined
  readonly issues?: ReadonlyMap<string, string> | undefined
  /** Whether the form was sent without one of its buttons. */
  readonly isUndecided?: boolean
  /** Who is logged in; undefined if the link is enough. */
  readonly visitor?: string | undefined
  /** Why the form cannot be shown, as a sentence: then it can only be declined. */
  readonly unshown?: string | undefined
}

export function questionPage(view: QuestionView): string {
  const { server, tool, message, fields, expiresAt, issues = new Map<string, string>() } = view
  const entered = view.entered && inputsByName(view.entered)
  const until =
    expiresAt === null ? undefined : html`<p class="aside">It can be answered until ${timeText(expiresAt)}.</p>`
  const accept = html`<button name="action" value="accept">${fields.length === 0 ? 'Accept' : 'Send the answer'}</button>`
  return page(
    `A question of ${server}`,
    html`<h1>A question for you</h1>
      <p>The tool <strong>${tool}</strong> of the server <strong>${server}</strong> waits for your answer:</p>
      <blockquote>${shown(message, MAX_MESSAGE_CHARS)}</blockquote>
      ${problemOf(view)}
      <form method="post" autocomplete="off">
        ${fields.map((field) => row(field, entered, issues.get(field.key)))}
        <div class="buttons">
          ${view.unshown === undefined ? accept : undefined}
          <button name="action" value="decline" class="quiet" formnovalidate>Decline</button>
        </div>
      </form>
      ${until}${visitorBar(view.visitor)}`,
  )
}

function problemOf({ unshown, isUndecided = false, issues }: QuestionView): Html | undefined {
  const problem = isUndecided ? 'Choose one of the buttons below.' : 'Some fields need another look.'
  const isWrong = unshown !== undefined || isUndecided || (issues?.size ?? 0) > 0
  return isWrong ? html`<p class="wrong" role="alert">${unshown ?? problem}</p>` : undefined
}

/** The page of a question that is for others than its caller, before a login. */
export function loginPage(server: string): string {
  return page(
    `A question of ${server}`,
    html`<h1>A question waits</h1>
      <p>The server <strong>${server}</strong> asks something that only certain people may answer. Log in to see whether you may.</p>
      <p><a class="button" href="?login">Log in</a></p>`,
  )
}

/** A notice for a person who is logged in. */
export function visitorPage(heading: string, visitor: string, ...sentences: readonly string[]): string {
  return page(heading, html`<h1>${heading}</h1>${paragraphs(sentences)}${visitorBar(visitor)}`)
}

function visitorBar(visitor: string | undefined): Html | undefined {
  if (visitor === undefined) return undefined
  return html`<form method="post" class="visitor">
    <span class="aside">You are logged in as ${plainLine(visitor)}.</span>
    <button name="action" value="logout" class="quiet">Log out</button>
  </form>`
}

function paragraphs(sentences: readonly string[]): Html[] {
  return sentences.map((sentence) => html`<p>${sentence}</p>`)
}

/** A page with a heading and sentences, for the outcome of a question. */
export function noticePage(heading: string, ...sentences: readonly string[]): string {
  return page(heading, html`<h1>${heading}</h1>${paragraphs(sentences)}`)
}

function row(
  field: Field,
  entered: ReadonlyMap<string, readonly string[]> | undefined,
  issue: string | undefined,
): Html {
  const given = entered && (entered.get(`${INPUT_PREFIX}${field.key}`) ?? [])
  switch (field.kind) {
    case 'text':
      return labelled(field, issue, textInput(field, given?.[0] ?? field.default ?? ''))
    case 'number':
      return labelled(field, issue, numberInput(field, given?.[0] ?? field.default))
    case 'choice':
      return labelled(field, issue, select(field, given?.[0] ?? field.default))
    case 'boolean':
      return group(field, issue, yesNo(field, given))
    case 'choices':
      return group(field, issue, boxes(field, given ?? field.default ?? []))
    case 'unknown':
      return html``
    default:
      return field satisfies never
  }
}

function labelled(field: Field, issue: string | undefined, input: Html): Html {
  return html`<div class="field">
    <label for="${idOf(field)}">${plainLine(field.title)}${optional(field)}</label>${notes(field, issue)}${input}
  </div>`
}

function group(field: Field, issue: string | undefined, inputs: readonly Html[]): Html {
  return html`<fieldset class="field" aria-describedby="${idOf(field)}.notes">
    <legend>${plainLine(field.title)}${optional(field)}</legend>${notes(field, issue)}${inputs}
  </fieldset>`
}

function notes(field: Field, issue: string | undefined): Html {
  const { description } = field
  return html`<div id="${idOf(field)}.notes">
    ${description === undefined ? undefined : html`<p class="aside">${shown(description, MAX_DESCRIPTION_CHARS)}</p>`}
    ${issue === undefined ? undefined : html`<p class="wrong">${issue}</p>`}
  </div>`
}

/** A server may send a long text, and each of its lines is made safe by itself. */
const MAX_MESSAGE_CHARS = 8000
const MAX_DESCRIPTION_CHARS = 1000

function shown(text: string, maxChars: number): string {
  return text.length <= maxChars ? plainText(text) : `${plainText(text.slice(0, maxChars))} … (cut)`
}

function optional({ required }: Field): Html | undefined {
  return required ? undefined : html` <span class="aside">(optional)</span>`
}

const INPUT_TYPES = { email: 'email', uri: 'url', date: 'date', 'date-time': 'text' } as const

/** Long texts and those without a limit get an area. */
const LINE_CHARS = 200

function textInput(field: TextField, value: string): Html {
  const { format, minLength, maxLength } = field
  const limits = html`${attribute('minlength', minLength)}${attribute('maxlength', maxLength)}`
  if (format === undefined && (maxLength ?? 0) > LINE_CHARS)
    return html`<textarea ${shared(field)} ${limits} rows="5">${value}</textarea>`
  const type = format === undefined ? 'text' : INPUT_TYPES[format]
  return html`<input ${shared(field)} type="${type}" ${limits} value="${value}" />`
}

function numberInput(field: NumberField, value: string | number | undefined): Html {
  const limits = html`${attribute('min', field.minimum)}${attribute('max', field.maximum)}`
  const step = field.integer ? '1' : 'any'
  return html`<input ${shared(field)} type="number" step="${step}" ${limits} value="${value ?? ''}" />`
}

function select(field: ChoiceField, chosen: string | undefined): Html {
  const options = field.choices.map(
    ({ value, title }) =>
      html`<option value="${value}" ${flag('selected', value === chosen)}>${plainLine(title)}</option>`,
  )
  return html`<select ${shared(field)}><option value="">Choose …</option>${options}</select>`
}

function yesNo(field: BooleanField, given: readonly string[] | undefined): Html[] {
  const initial = field.default === undefined ? undefined : field.default ? 'yes' : 'no'
  const chosen = given === undefined ? initial : given[0]
  return (['yes', 'no'] as const).map((value) => {
    const label = value === 'yes' ? 'Yes' : 'No'
    const flags = html`${flag('checked', value === chosen)} ${flag('required', field.required)}`
    return html`<label class="choice"><input type="radio" name="${nameOf(field)}" value="${value}" ${flags} /> ${label}</label>`
  })
}

function boxes(field: ChoicesField, chosen: readonly string[]): Html[] {
  return field.choices.map(({ value, title }) => {
    const checked = flag('checked', chosen.includes(value))
    return html`<label class="choice"><input type="checkbox" name="${nameOf(field)}" value="${value}" ${checked} /> ${plainLine(title)}</label>`
  })
}

function shared(field: Field): Html {
  const described = html`aria-describedby="${idOf(field)}.notes"`
  return html`id="${idOf(field)}" name="${nameOf(field)}" ${described} ${flag('required', field.required)}`
}

function attribute(name: string, value: number | undefined): Html | undefined {
  return value === undefined ? undefined : new Html(` ${name}="${value}"`)
}

function flag(name: string, isSet: boolean): Html | undefined {
  return isSet ? new Html(name) : undefined
}

function nameOf({ key }: Field): string {
  return `${INPUT_PREFIX}${key}`
}

/** An id may have any character but a space. */
function idOf(field: Field): string {
  return nameOf(field).replaceAll(/\s/g, '_')
}

/** The style of all pages; a server names its digest in the policy of a page. */
export const PAGE_STYLE = `
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
  body { margin: 0 auto; max-width: 38rem; padding: 2rem 1rem; overflow-wrap: anywhere; }
  h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; }
  blockquote { border: 1px solid #8888; border-radius: .5rem; margin: 1.5rem 0; padding: 1rem; white-space: pre-wrap; }
  .field { border: 0; margin: 0 0 1.25rem; padding: 0; min-width: 0; }
  .field > label, legend { display: block; font-weight: 600; margin: 0 0 .25rem; padding: 0; }
  .field > .choice { align-items: baseline; display: flex; font-weight: 400; gap: .5rem; margin: 0; padding: .375rem 0; }
  input:not([type=radio], [type=checkbox]), select, textarea {
    border: 1px solid #767676; border-radius: .375rem; box-sizing: border-box; font: inherit; padding: .5rem; width: 100%; }
  p { margin: 0 0 .5rem; }
  .aside { font-weight: 400; opacity: .8; }
  .wrong { color: light-dark(#b3261e, #ffb4ab); font-weight: 600; }
  .buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.5rem 0; }
  button, .button { background: light-dark(#1a56c4, #a8c7fa); border: 1px solid transparent; border-radius: .375rem;
    color: light-dark(#fff, #0b2a5c); cursor: pointer; font: inherit; font-weight: 600; padding: .625rem 1.25rem; }
  .button { display: inline-block; text-decoration: none; }
  .visitor { align-items: center; display: flex; flex-wrap: wrap; gap: .75rem; margin: 2rem 0 0; }
  .quiet { background: transparent; border-color: currentColor; color: inherit; }
  :focus-visible { outline: 3px solid light-dark(#1a56c4, #a8c7fa); outline-offset: 2px; }
`

function page(title: string, body: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <style>${new Html(PAGE_STYLE)}</style>
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html>`.text
}
