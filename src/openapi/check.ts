/**
 * Checks a value against a schema that `SchemaWriter` wrote. It generates no code, and counts its steps: a document may
 * have thousands of schemas, and a schema that refers to itself in several choices takes exponential time.
 */
import { isObject, type Json } from '../protocol/index.ts'
import { member, memberObject, memberText } from './document.ts'

/** These take less than 20 ms. */
const MAX_STEPS = 60_000
/** The sentence about a choice that does not fit takes longer than a step. */
const STEPS_OF_CHOICE = 5
/** Schemas that refer to each other in a circle descend without an end. */
const MAX_CHECK_DEPTH = 1000

/** The first fault of a value, as `pet.name must be of the type string`; undefined if it fits. */
export function faultOf(schema: Json, value: unknown): string | undefined {
  const check = new CountedCheck(schema)
  try {
    return check.fault(schema, value, '')
  } catch (error) {
    if (error instanceof TooManySteps) return TOO_MUCH
    throw error
  }
}

const TOO_MUCH = 'the value holds too much to be checked; send less at once'

class TooManySteps extends Error {}

class CountedCheck {
  readonly #root: Json
  /** The names in each object: it is looked at once for each choice. */
  readonly #names = new Map<Json, readonly string[]>()
  #steps = 0
  #depth = 0

  constructor(root: Json) {
    this.#root = root
  }

  fault(schema: unknown, value: unknown, path: string): string | undefined {
    this.#step(1)
    if (schema === false) return `${named(path)} is not allowed`
    if (!isObject(schema)) return undefined
    if (++this.#depth > MAX_CHECK_DEPTH) throw new TooManySteps()
    const found = this.#faultOfAny(schema, value, path)
    this.#depth--
    return found
  }

  #faultOfAny(schema: Json, value: unknown, path: string): string | undefined {
    return (
      this.#referred(schema, value, path) ??
      this.#type(schema, value, path) ??
      this.#choices(schema, value, path) ??
      this.#limits(schema, value, path) ??
      (isObject(value) ? this.#object(schema, value, path) : undefined) ??
      (Array.isArray(value) ? this.#array(schema, value, path) : undefined) ??
      this.#combined(schema, value, path)
    )
  }

  #step(count: number): void {
    this.#steps += count
    if (this.#steps > MAX_STEPS) throw new TooManySteps()
  }

  #referred(schema: Json, value: unknown, path: string): string | undefined {
    const reference = memberText(schema, '$ref')
    if (reference === undefined) return undefined
    return this.fault(member(memberObject(this.#root, '$defs'), reference.slice('#/$defs/'.length)), value, path)
  }

  #type(schema: Json, value: unknown, path: string): string | undefined {
    const type = member(schema, 'type')
    const types: readonly unknown[] = Array.isArray(type) ? type : type === undefined ? [] : [type]
    if (types.length === 0 || types.some((each) => isOf(each, value))) return undefined
    return `${named(path)} must be of the type ${types.join(' or ')}`
  }

  #choices(schema: Json, value: unknown, path: string): string | undefined {
    const choices = member(schema, 'enum')
    const constant = Object.hasOwn(schema, 'const') ? [schema['const']] : undefined
    for (const allowed of [Array.isArray(choices) ? choices : undefined, constant]) {
      if (allowed === undefined) continue
      this.#step(allowed.length)
      if (!allowed.some((each) => this.#isSame(each, value))) {
        const shown = allowed.slice(0, 20).map((each) => JSON.stringify(each)?.slice(0, 60))
        return `${named(path)} must be one of ${shown.join(', ')}${allowed.length > 20 ? ', …' : ''}`
      }
    }
    return undefined
  }

  #isSame(one: unknown, other: unknown): boolean {
    if (one === other) return true
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
    if (Array.isArray(one) !== Array.isArray(other)) return false
    const [names, others] = [this.#namesIn(one as Json), this.#namesIn(other as Json)]
    if (names.length !== others.length) return false
    return names.every((name) => {
      this.#step(1)
      return Object.hasOwn(other, name) && this.#isSame((one as Json)[name], (other as Json)[name])
    })
  }

  #limits(schema: Json, value: unknown, path: string): string | undefined {
    for (const [keyword, isOver, says] of limitsOf(value)) {
      const limit = member(schema, keyword)
      if (typeof limit !== 'number') continue
      if (isOver(this.#sizeOf(value), limit)) return `${named(path)} ${says} ${limit}`
    }
    return undefined
  }

  #sizeOf(value: unknown): number {
    if (typeof value === 'number') return value
    if (typeof value === 'string' || Array.isArray(value)) return value.length
    return isObject(value) ? this.#namesIn(value).length : 0
  }

  #namesIn(value: Json): readonly string[] {
    const names = this.#names.get(value) ?? Object.keys(value)
    this.#names.set(value, names)
    return names
  }

  #object(schema: Json, value: Json, path: string): string | undefined {
    const { required } = schema
    if (Array.isArray(required)) {
      this.#step(required.length)
      const names = required.filter((name) => typeof name === 'string')
      const missing = names.find((name) => !Object.hasOwn(value, name))
      if (missing !== undefined) return `${named(inner(path, missing))} is missing`
    }
    const properties = memberObject(schema, 'properties')
    const others = member(schema, 'additionalProperties')
    for (const name of this.#namesIn(value)) {
      const isKnown = Object.hasOwn(properties, name)
      const found = this.fault(isKnown ? properties[name] : others, value[name], inner(path, name))
      if (found !== undefined) return found
    }
    return undefined
  }

  #array(schema: Json, value: readonly unknown[], path: string): string | undefined {
    const prefix = member(schema, 'prefixItems')
    const first: readonly unknown[] = Array.isArray(prefix) ? prefix : []
    const items = member(schema, 'items')
    for (const [at, item] of value.entries()) {
      const found = this.fault(at < first.length ? first[at] : items, item, inner(path, String(at)))
      if (found !== undefined) return found
    }
    return undefined
  }

  #combined(schema: Json, value: unknown, path: string): string | undefined {
    const all = member(schema, 'allOf')
    for (const each of Array.isArray(all) ? all : []) {
      const found = this.fault(each, value, path)
      if (found !== undefined) return found
    }
    for (const name of ['anyOf', 'oneOf']) {
      const choices = member(schema, name)
      if (!Array.isArray(choices) || choices.length === 0) continue
      const faults: string[] = []
      for (const each of choices) {
        const found = this.fault(each, value, path)
        if (found === undefined) break
        this.#step(STEPS_OF_CHOICE)
        faults.push(found)
      }
      if (faults.length === choices.length) return faults.length === 1 ? faults[0] : noneFits(path, faults)
    }
    const not = member(schema, 'not')
    const isRefused = not !== undefined && this.fault(not, value, path) === undefined
    return isRefused ? `${named(path)} has a form that is not allowed` : undefined
  }
}

function noneFits(path: string, faults: readonly string[]): string {
  return `${named(path)} fits none of its forms (${faults.slice(0, 3).join('; ')})`.slice(0, 300)
}

function isOf(type: unknown, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'integer':
      return Number.isInteger(value)
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
    default:
      return true // a type that JSON Schema does not have, such as `file`
  }
}

type Limit = readonly [keyword: string, isOver: (size: number, limit: number) => boolean, says: string]

const NUMBER_LIMITS: readonly Limit[] = [
  ['minimum', (size, limit) => size < limit, 'must be at least'],
  ['maximum', (size, limit) => size > limit, 'must be at most'],
  ['exclusiveMinimum', (size, limit) => size <= limit, 'must be more than'],
  ['exclusiveMaximum', (size, limit) => size >= limit, 'must be less than'],
]
const LENGTH_LIMITS = sizeLimits('Length', 'characters')
const ITEM_LIMITS = sizeLimits('Items', 'items')
const PROPERTY_LIMITS = sizeLimits('Properties', 'properties')

function sizeLimits(name: string, what: string): readonly Limit[] {
  return [
    [`min${name}`, (size, limit) => size < limit, `must have at least this many ${what}:`],
    [`max${name}`, (size, limit) => size > limit, `must have at most this many ${what}:`],
  ]
}

function limitsOf(value: unknown): readonly Limit[] {
  if (typeof value === 'number') return NUMBER_LIMITS
  if (typeof value === 'string') return LENGTH_LIMITS
  if (Array.isArray(value)) return ITEM_LIMITS
  return isObject(value) ? PROPERTY_LIMITS : []
}

function inner(path: string, name: string): string {
  return path.length > 200 ? path : path === '' ? name.slice(0, 60) : `${path}.${name.slice(0, 60)}`
}

function named(path: string): string {
  return path === '' ? 'the value' : path
}
