/** Parameters as an API reads them: the styles of OpenAPI for paths, queries, headers, cookies and forms. */
import { isObject, type Json } from '../protocol/index.ts'
import { member } from './document.ts'

export type ParameterPlace = 'path' | 'query' | 'header' | 'cookie'

export interface Parameter {
  /** Its name in the API. */
  readonly name: string
  /** Its name among the arguments of the tool. */
  readonly argument: string
  readonly place: ParameterPlace
  readonly style: string
  readonly explode: boolean
  /** Whether its value is written as JSON. */
  readonly isJson: boolean
}

/** A value that an API cannot be sent, as the end of a sentence about the argument. */
export class Unsendable extends Error {}

/** The styles that are written here, by place. */
export const STYLES: Readonly<Record<ParameterPlace, readonly string[]>> = {
  path: ['simple'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}

const SEPARATORS: ReadonlyMap<string, string> = new Map([
  ['spaceDelimited', ' '],
  ['pipeDelimited', '|'],
])

export type Pair = readonly [name: string, value: string]

type WrittenParameter = Pick<Parameter, 'name' | 'style' | 'explode' | 'isJson'>

/** The names and values of a query, a form or cookies, not yet encoded. */
export function pairsOf({ name, style, explode, isJson }: WrittenParameter, value: unknown): readonly Pair[] {
  if (isJson) return [[name, JSON.stringify(value)]]
  if (style === 'deepObject') return deepPairs(name, value)
  if (Array.isArray(value)) {
    const items = value.map(plainText)
    return explode ? items.map((item) => [name, item]) : [[name, items.join(SEPARATORS.get(style) ?? ',')]]
  }
  if (!isObject(value)) return [[name, plainText(value)]]
  const members = Object.entries(value).map(([key, each]): Pair => [key, plainText(each)])
  return explode ? members : [[name, members.flat().join(',')]]
}

/** `filter[color]=red`, `lines[0][price]=5`. Bounded by the depth of a message. */
function deepPairs(name: string, value: unknown): readonly Pair[] {
  if (typeof value !== 'object' || value === null) return [[name, plainText(value)]]
  return Object.entries(value).flatMap(([key, each]) => deepPairs(`${name}[${key}]`, each))
}

/** The style `simple`, of paths and headers. `encode` is for each value, so that the commas stay. */
function simpleText(
  { explode, isJson }: Pick<Parameter, 'explode' | 'isJson'>,
  value: unknown,
  encode: (text: string) => string = (text) => text,
): string {
  if (isJson) return encode(JSON.stringify(value))
  if (Array.isArray(value)) return value.map((each) => encode(plainText(each))).join(',')
  if (!isObject(value)) return encode(plainText(value))
  const members = Object.entries(value).map(([key, each]) => [encode(key), encode(plainText(each))])
  return members.map((each) => each.join(explode ? '=' : ',')).join(',')
}

/** A value inside a list or an object has no style. */
function plainText(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

/**
 * A path with its arguments. Each argument stays in its segment: characters that would end the segment are encoded, and
 * `.` and `..` are refused, encoded or not.
 */
export function filledPath(template: string, parameters: readonly Parameter[], args: Json): string {
  const byName = new Map(parameters.map((each) => [each.name, each]))
  const path = template.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const parameter = byName.get(name)
    const value = parameter && member(args, parameter.argument)
    const text = parameter === undefined ? '' : simpleText(parameter, value, encodeURIComponent)
    if (text === '') throw new Unsendable(`${parameter?.argument ?? name} must not be empty`)
    return text
  })
  const [climbing] = path.split('/').filter((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
  if (climbing !== undefined) throw new Unsendable('an argument in the path must not be "." or ".."')
  return path
}

// RFC 9110, 5.5, without bytes beyond ASCII, which implementations send and read differently.
const HEADER_VALUE = /^[\t\x20-\x7e]*$/

export function headerText(parameter: Parameter, value: unknown): string {
  const text = simpleText(parameter, value)
  if (HEADER_VALUE.test(text)) return text
  throw new Unsendable(`${parameter.argument} has characters that cannot stand in a header`)
}

/** Percent-encoding (RFC 3986), which servers also read in forms. */
export function encodedPairs(pairs: readonly Pair[]): string {
  return pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
}

export function cookieText(pairs: readonly Pair[]): string {
  return pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('; ')
}
