/** A form from fields, as the gateway has read them from a schema. */
import { useId } from 'preact/hooks'
import type { Field } from '../../gateway/internal.ts'

export type FormValue = string | readonly string[]

/** What stands in the form at first. */
export function firstValues(fields: readonly Field[]): Readonly<Record<string, FormValue>> {
  return Object.fromEntries(fields.map((field) => [field.key, firstValue(field)]))
}

function firstValue(field: Field): FormValue {
  switch (field.kind) {
    case 'choices':
      return field.default ?? []
    case 'boolean':
      return field.default === undefined ? '' : String(field.default)
    case 'unknown':
      return ''
    default:
      return String(field.default ?? '')
  }
}

/** The content of an answer: fields that were left empty are absent. */
export function contentOf(
  fields: readonly Field[],
  values: Readonly<Record<string, FormValue>>,
): Readonly<Record<string, unknown>> {
  const members = fields.flatMap((field): (readonly [string, unknown])[] => {
    const value = values[field.key] ?? ''
    if (field.kind === 'choices') return field.required || value.length > 0 ? [[field.key, value]] : []
    if (value === '' || field.kind === 'unknown') return []
    if (field.kind === 'boolean') return [[field.key, value === 'true']]
    return [[field.key, field.kind === 'number' ? Number(value) : value]]
  })
  return Object.fromEntries(members)
}

export interface FieldsProps {
  readonly fields: readonly Field[]
  readonly values: Readonly<Record<string, FormValue>>
  readonly onChange: (key: string, value: FormValue) => void
}

export function Fields({ fields, values, onChange }: FieldsProps) {
  return (
    <>
      {fields.map((field) => (
        <FieldInput
          key={field.key}
          field={field}
          value={values[field.key] ?? ''}
          onChange={(value) => onChange(field.key, value)}
        />
      ))}
    </>
  )
}

interface FieldInputProps {
  readonly field: Field
  readonly value: FormValue
  readonly onChange: (value: FormValue) => void
}

function FieldInput(props: FieldInputProps) {
  const { field } = props
  if (field.kind === 'unknown') return null
  const isGroup = field.kind === 'boolean' || field.kind === 'choices'
  return isGroup ? <Group {...props} /> : <Single {...props} />
}

function Title({ field }: Pick<FieldInputProps, 'field'>) {
  return (
    <>
      <bdi>{field.title}</bdi> {!field.required && <span class="quiet">(optional)</span>}
    </>
  )
}

function Description({ id, field }: Pick<FieldInputProps, 'field'> & { readonly id: string }) {
  return field.description === undefined ? null : (
    <p class="quiet" id={`${id}-about`}>
      <bdi>{field.description}</bdi>
    </p>
  )
}

type InputEvent = { readonly currentTarget: { readonly value: string } }

function Single({ field, value, onChange }: FieldInputProps) {
  const id = useId()
  const shared = {
    id,
    value: String(value),
    required: field.required,
    'aria-describedby': field.description === undefined ? undefined : `${id}-about`,
    onInput: (event: InputEvent) => onChange(event.currentTarget.value),
  }
  return (
    <div class="field">
      <label for={id}>
        <Title field={field} />
      </label>
      <Description id={id} field={field} />
      {field.kind === 'choice' && (
        <select {...shared}>
          <option value="">Choose …</option>
          {field.choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.title}
            </option>
          ))}
        </select>
      )}
      {field.kind === 'number' && (
        <input {...shared} type="number" step={field.integer ? 1 : 'any'} min={field.minimum} max={field.maximum} />
      )}
      {field.kind === 'text' && <Text field={field} shared={shared} />}
    </div>
  )
}

interface TextProps {
  readonly field: Field & { readonly kind: 'text' }
  readonly shared: { readonly id: string; readonly value: string; readonly required: boolean }
}

/** Longer texts have several lines. */
const LONG_TEXT = 200

function Text({ field: { format, minLength, maxLength }, shared }: TextProps) {
  if (format === 'date') return <input {...shared} type="date" />
  const limits = { ...shared, minLength, maxLength }
  if (format === 'email') return <input {...limits} type="email" />
  if (format === 'uri') return <input {...limits} type="url" />
  if ((maxLength ?? 0) > LONG_TEXT) return <textarea {...limits} rows={4} />
  return <input {...limits} type="text" placeholder={format === 'date-time' ? '2026-07-28T09:00:00Z' : undefined} />
}

function Group({ field, value, onChange }: FieldInputProps) {
  const id = useId()
  const chosen = typeof value === 'string' ? [] : value
  return (
    <fieldset class="field" aria-describedby={field.description === undefined ? undefined : `${id}-about`}>
      <legend>
        <Title field={field} />
      </legend>
      <Description id={id} field={field} />
      {field.kind === 'boolean' &&
        (['true', 'false'] as const).map((each) => (
          <label key={each} class="choice">
            <input
              type="radio"
              name={id}
              required={field.required}
              checked={value === each}
              onChange={() => onChange(each)}
            />
            {each === 'true' ? 'Yes' : 'No'}
          </label>
        ))}
      {field.kind === 'choices' &&
        field.choices.map((choice) => (
          <label key={choice.value} class="choice">
            <input
              type="checkbox"
              checked={chosen.includes(choice.value)}
              onChange={({ currentTarget }) =>
                onChange(
                  currentTarget.checked ? [...chosen, choice.value] : chosen.filter((each) => each !== choice.value),
                )
              }
            />
            <bdi>{choice.title}</bdi>
          </label>
        ))}
    </fieldset>
  )
}
