import { isObject, type Json } from '../../protocol/index.ts'

/** One of the values that can be chosen, and how it is called. */
export interface Choice {
  readonly value: string
  readonly title: string
}

/** `enum`, with the older `enumNames` beside it or not; `oneOf` or `anyOf` of constants with titles. */
export function readChoices(schema: Json): readonly Choice[] | undefined {
  const { enum: values, enumNames: names, oneOf, anyOf } = schema
  if (isTexts(values) && values.length > 0) {
    const titles: readonly unknown[] = Array.isArray(names) ? names : []
    return values.map((value, index) => ({ value, title: titleOr(titles[index], value) }))
  }
  const options: unknown = oneOf ?? anyOf
  if (!Array.isArray(options) || options.length === 0) return undefined
  const choices = options.map(readConstant)
  return choices.every((choice) => choice !== undefined) ? choices : undefined
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function readConstant(option: unknown): Choice | undefined {
  if (!isObject(option) || typeof option['const'] !== 'string') return undefined
  return { value: option['const'], title: titleOr(option['title'], option['const']) }
}

function titleOr(title: unknown, value: string): string {
  return typeof title === 'string' && title !== '' ? title : value
}
