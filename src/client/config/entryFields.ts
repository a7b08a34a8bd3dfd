/** The fields of one entry of a configuration file: checked and with their variables put in when they are read. */
import { isObject, type Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { expandVariables, type Variables } from './variables.ts'

export interface Fields {
  has(field: string): boolean
  text(field: string): string
  list(field: string): string[]
  /** A dictionary of strings. Editors also take numbers and booleans there; null leaves a name out. */
  texts(field: string): Record<string, string>
}

export function fieldsOf(entry: Json, where: string, variables: Variables): Fields {
  const invalid = (field: string, shape: string): ClientError =>
    new ClientError('CONFIG_INVALID', `${where}: "${field}" must be ${shape}.`)

  const expanded = (value: unknown, field: string): string => {
    if (typeof value !== 'string') throw invalid(field, 'a string')
    return expandVariables(value, variables, `${where}, ${field}`)
  }

  return {
    has: (field) => entry[field] !== undefined && entry[field] !== null,
    text: (field) => expanded(entry[field], field),
    list: (field) => {
      const value = entry[field] ?? []
      if (!Array.isArray(value)) throw invalid(field, 'a list of strings')
      return value.map((item, index) => expanded(item, `${field}[${index}]`))
    },
    texts: (field) => {
      const value = entry[field] ?? {}
      if (!isObject(value)) throw invalid(field, 'an object of strings')
      const present = Object.entries(value).filter(([, item]) => item !== null)
      return Object.fromEntries(present.map(([name, item]) => [name, expanded(scalar(item), `${field}.${name}`)]))
    },
  }
}

function scalar(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
}
