/** Asks for one field of a form on a screen, until the value fits. Undefined if an optional field is left empty. */
import {
  type BooleanField,
  type ChoiceField,
  type ChoicesField,
  type Field,
  type FieldValue,
  FORMAT_EXAMPLES,
  isPlainLine,
  type NumberField,
  plainLine,
  problemOf,
  readTyped,
  type TextField,
  type Typed,
} from '../../questions/index.ts'
import type { Option, Screen } from './screen.ts'
import { quoted } from './whoAsks.ts'

type EnteredValue = FieldValue | undefined

/** The label of a field: its title, and the property's name if that differs. */
export function fieldLabel({ key, title }: Field): string {
  return title === key ? plainLine(key, 80) : `${plainLine(title, 80)} [${plainLine(key, 40)}]`
}

export function describeField(screen: Screen, { description }: Field): void {
  if (description !== undefined) screen.say(quoted(screen, description, 6))
}

/** Asks for one field. `current` is its default, or the value that was entered before. */
export async function askField(screen: Screen, field: Field, current: EnteredValue): Promise<EnteredValue> {
  describeField(screen, field)
  switch (field.kind) {
    case 'text':
      return askText(screen, field, current)
    case 'number':
      return askLine(screen, field, current === undefined ? '' : String(current))
    case 'boolean':
      return askBoolean(screen, field, current)
    case 'choice':
      return askChoice(screen, field, current)
    case 'choices':
      return askChoices(screen, field, current)
    case 'unknown':
      return undefined
    default:
      return field satisfies never
  }
}

const MAX_LINE_CHARS = 1000

async function askText(screen: Screen, field: TextField, current: EnteredValue): Promise<EnteredValue> {
  const text = typeof current === 'string' ? current : ''
  if (isPlainLine(text) && text.length <= MAX_LINE_CHARS) return askLine(screen, field, text)
  // A text that is long, has several lines or holds control characters cannot be edited in a line of input. The person
  // takes it as it is, or types another.
  screen.say(['Given text:', ...quoted(screen, text, 12)])
  const keep = await screen.choose(messageOf(field), [
    { value: true, label: 'Take the given text' },
    { value: false, label: 'Type another' },
  ])
  return keep ? text : askLine(screen, field, '')
}

async function askLine(screen: Screen, field: TextField | NumberField, initial: string): Promise<EnteredValue> {
  const problem = (line: string): string | undefined => problemIn(readTyped(field, line))
  const placeholder = field.kind === 'text' && field.format !== undefined ? FORMAT_EXAMPLES[field.format] : undefined
  const typed = readTyped(field, await screen.line({ message: messageOf(field), initial, placeholder, problem }))
  return 'value' in typed ? typed.value : undefined
}

function problemIn(typed: Typed): string | undefined {
  return 'problem' in typed ? typed.problem : undefined
}

const LEAVE_EMPTY: Option<EnteredValue> = { value: undefined, label: 'Leave empty' }
const YES_OR_NO: readonly Option<EnteredValue>[] = [
  { value: true, label: 'Yes' },
  { value: false, label: 'No' },
]

/** A field that is answered by one choice. */
export type OneChoiceField = BooleanField | ChoiceField

/** The choices of a field. */
export function choicesFor(field: OneChoiceField): readonly Option<EnteredValue>[] {
  const options = field.kind === 'boolean' ? YES_OR_NO : optionsOf(field)
  return field.required ? options : [...options, LEAVE_EMPTY]
}

// Without a default, pressing Enter does not say yes.
function askBoolean(screen: Screen, field: BooleanField, current: EnteredValue): Promise<EnteredValue> {
  const initial = current ?? (field.required ? false : undefined)
  return screen.choose(messageOf(field), choicesFor(field), initial)
}

function askChoice(screen: Screen, field: ChoiceField, current: EnteredValue): Promise<EnteredValue> {
  return screen.choose(messageOf(field), choicesFor(field), current)
}

async function askChoices(screen: Screen, field: ChoicesField, current: EnteredValue): Promise<EnteredValue> {
  let initial = Array.isArray(current) ? (current as readonly string[]) : []
  for (;;) {
    const chosen = await screen.chooseMany(messageOf(field), optionsOf(field), initial)
    if (chosen.length === 0 && !field.required) return undefined
    const problem = problemOf(field, chosen)
    if (problem === undefined) return chosen
    screen.warn([problem])
    initial = chosen
  }
}

function optionsOf({ choices }: ChoiceField | ChoicesField): Option<string>[] {
  return choices.map(({ value, title }) => ({
    value,
    label: plainLine(title, 120) || '(empty)',
    ...(title !== value && { hint: plainLine(value, 60) }),
  }))
}

export function messageOf(field: Field): string {
  return `${fieldLabel(field)} (${[...limitsOf(field), field.required ? 'required' : 'optional'].join(', ')})`
}

function limitsOf(field: Field): string[] {
  switch (field.kind) {
    case 'text':
      return range(field.minLength, field.maxLength, 'character')
    case 'number':
      return [field.integer ? 'whole number' : 'number', ...numberRange(field)]
    case 'choices':
      return range(field.minItems, field.maxItems, 'choice')
    default:
      return []
  }
}

// Some schema libraries, such as zod, write the largest safe integers for a missing limit.
function numberRange({ minimum, maximum }: NumberField): string[] {
  const from = minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum
  return range(from, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum, '')
}

function range(from: number | undefined, to: number | undefined, noun: string): string[] {
  if (from === undefined && to === undefined) return []
  const span = from === undefined ? `at most ${to}` : to === undefined ? `at least ${from}` : `${from} to ${to}`
  const unit = noun === '' || (to ?? from) === 1 ? noun : `${noun}s`
  return [`${span} ${unit}`.trim()]
}
