/**
 * A form on a screen: who asks, each field, a summary of what will be sent, and the choice to send, decline or cancel.
 * A form with one yes or no, or one choice, is a single prompt that has all of this.
 */
import type { ElicitRequestFormParams } from '@modelcontextprotocol/client'
import type { Json } from '../../protocol/index.ts'
import type { Asked } from '../questions/answerer.ts'
import { contentProblems, defaultOf, type Field, type FieldValue, plainLine } from '../../questions/index.ts'
import { askField, choicesFor, describeField, fieldLabel, messageOf, type OneChoiceField } from './field.ts'
import type { Option, Screen } from './screen.ts'
import { introduce, WAYS_OUT } from './whoAsks.ts'
import { formFields } from '../questions/kinds.ts'

type Values = ReadonlyMap<string, FieldValue | undefined>

export async function showForm(screen: Screen, asked: Asked, params: ElicitRequestFormParams): Promise<Json> {
  const fields = formFields(params.requestedSchema)
  const shown = fields.filter(({ kind }) => kind !== 'unknown')
  screen.begin('A server asks for information')
  introduce(screen, asked, params.message)
  const only = onlyChoice(shown)
  if (only !== undefined) return askOnlyChoice(screen, only)
  if (shown.length > 0) screen.say(['It asks for:', ...listOf(shown)])
  const opening = { value: 'answer' as const, label: shown.length > 0 ? 'Fill in the form' : 'Accept' }
  const choice = await screen.choose('How do you answer?', [opening, ...WAYS_OUT])
  if (choice !== 'answer') return { action: choice }
  return fillIn(screen, fields, shown)
}

function onlyChoice(shown: readonly Field[]): OneChoiceField | undefined {
  const [only, ...others] = shown
  if (only === undefined || others.length > 0) return undefined
  return only.kind === 'boolean' || only.kind === 'choice' ? only : undefined
}

/** Pressing Enter at once takes the default of the form; without one it declines. */
async function askOnlyChoice(screen: Screen, field: OneChoiceField): Promise<Json> {
  describeField(screen, field)
  const answers = choicesFor(field).map(({ value, ...shown }): Option<Json> => {
    return { ...shown, value: { action: 'accept', content: contentOf(new Map([[field.key, value]])) } }
  })
  const ways: readonly Option<Json>[] = [
    { value: { action: 'decline' }, label: 'Decline', hint: 'refuse to answer' },
    { value: { action: 'cancel' }, label: 'Cancel', hint: 'give no answer' },
  ]
  const given = choicesFor(field).findIndex(({ value }) => value !== undefined && value === defaultOf(field))
  return screen.choose(messageOf(field), [...answers, ...ways], (answers[given] ?? ways[0])?.value)
}

const MAX_LISTED = 20

function listOf(shown: readonly Field[]): string[] {
  const listed = shown.slice(0, MAX_LISTED).map((field) => `- ${fieldLabel(field)}`)
  return shown.length > MAX_LISTED ? [...listed, `… and ${shown.length - MAX_LISTED} more`] : listed
}

async function fillIn(screen: Screen, fields: readonly Field[], shown: readonly Field[]): Promise<Json> {
  const values = new Map(shown.map((field) => [field.key, defaultOf(field)]))
  for (const field of shown) values.set(field.key, await askField(screen, field, values.get(field.key)))
  for (;;) {
    const content = contentOf(values)
    const problems = contentProblems(fields, content)
    if (shown.length === 0) return { action: 'accept', content }
    screen.say(['This will be sent:', ...shown.map((field) => `- ${summary(field, values)}`)])
    if (problems.length > 0) screen.warn(problems)
    const next = await screen.choose(
      'Send it?',
      problems.length > 0 ? [CHANGE, ...WAYS_OUT] : [SEND, CHANGE, ...WAYS_OUT],
    )
    if (next === 'send') return { action: 'accept', content }
    if (next !== 'change') return { action: next }
    const field = await chooseField(screen, shown)
    values.set(field.key, await askField(screen, field, values.get(field.key)))
  }
}

type FormStep = 'send' | 'change' | 'decline' | 'cancel'

const SEND: Option<FormStep> = { value: 'send', label: 'Send' }
const CHANGE: Option<FormStep> = { value: 'change', label: 'Change an answer' }

async function chooseField(screen: Screen, shown: readonly Field[]): Promise<Field> {
  const [only, ...others] = shown
  if (only !== undefined && others.length === 0) return only
  return screen.choose(
    'Which one?',
    shown.map((field) => ({ value: field, label: fieldLabel(field) })),
  )
}

function summary(field: Field, values: Values): string {
  const value = values.get(field.key)
  return `${fieldLabel(field)}: ${value === undefined ? '(left empty)' : plainLine(JSON.stringify(value), 500)}`
}

// Fields that were left empty are left out.
function contentOf(values: Values): Json {
  return Object.fromEntries([...values].filter(([, value]) => value !== undefined))
}
