/** JSON that few expect, as text: much of it cannot be a value before it is written. */
import type { Random } from './random.ts'

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

export type Template = Json

const DEPTHS = [50, 126, 127, 128, 129, 200, 5000, 100_000]
const COUNTS = [100, 10_000, 19_000, 39_000, 79_000, 300_000, 2_000_000]
const LENGTHS = [1000, 70_000, 1_000_000, 5_000_000, 17_000_000]
const ITEMS = ['{}', '[]', '1', '""', 'null', '[[]]', '{"a":1}']
const SCALARS = [
  'null',
  'true',
  '-1',
  '-0',
  '1e400',
  '1e-400',
  '9007199254740993',
  '0.1',
  '""',
  '[]',
  '{}',
  '[[]]',
  '"2026-07-28"',
  '{"toJSON":1,"then":{}}',
  '{"__proto__":{"a":1},"constructor":null,"toString":1,"length":-1}',
  '{"a":1,"a":2}',
]
const TEXTS = [
  '\u0000',
  '\u001b[31mred\u001b[0m\u0007',
  '\u202eabc\u2066',
  '\ud800',
  '\u2028\u2029',
  '\ufeff',
  '\r\ndata: {}\r\n\r\n',
  '../../etc/passwd',
  '${HOME}',
  'http://127.0.0.1:1/',
  '__proto__',
  'a'.repeat(5000),
]

/** `size`: how large it may be, from 0 to 1. */
export function oddText(random: Random, size: number): string {
  const upTo = <T>(from: readonly T[]): T => from[random.below(Math.ceil(from.length * size))] as T
  switch (random.below(8)) {
    case 0:
      return nested(random, upTo(DEPTHS))
    case 1:
      return `[${`${random.pick(ITEMS)},`.repeat(upTo(COUNTS))}0]`
    case 2:
      return `{${Array.from({ length: Math.min(upTo(COUNTS), 300_000) }, (_, at) => `"k${at}":0`).join(',')}}`
    case 3:
      return JSON.stringify(random.pick(['x', 'é', '\n', '"', '{', '🎻']).repeat(upTo(LENGTHS) / 4))
    case 4:
    case 5:
      return JSON.stringify(random.pick(TEXTS))
    default:
      return random.pick(SCALARS)
  }
}

function nested(random: Random, depth: number): string {
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"a":', '}'],
    ['{"type":"object","properties":{"a":', '}}'],
  ] as const)
  return `${open.repeat(depth)}1${close.repeat(depth)}`
}

const MARK = '\u0001odd'

/** The text of a template in which something stands that is not expected there. */
export function mutated(random: Random, template: Template, size: number): string {
  const places: ((value: Json) => Json)[] = []
  collect(template, (replace) => places.push(replace))
  const changed = random.pick(places)(MARK)
  return JSON.stringify(changed).replace(JSON.stringify(MARK), () => oddText(random, size))
}

/** Gives, for each place in a value, what makes the whole with another value there. */
function collect(value: Json, add: (replace: (by: Json) => Json) => void): void {
  add((by) => by)
  if (typeof value !== 'object' || value === null) return
  const entries = Object.entries(value)
  for (const [key, inside] of entries)
    collect(inside, (replace) =>
      add((by) => {
        const next = entries.map(([name, each]) => [name, name === key ? replace(by) : each] as const)
        return Array.isArray(value) ? next.map(([, each]) => each) : Object.fromEntries(next)
      }),
    )
}
