/**
 * Finds the members of a JSON object in its text. So a value can be moved from one message to another without being
 * parsed, and does not change on the way.
 */
import { parseJson } from '../../protocol/index.ts'

export interface JsonMember {
  readonly name: string
  /** Where the name begins, where the value begins, and where the value ends. */
  readonly from: number
  readonly valueFrom: number
  readonly to: number
}

const SPACE = /[\t\n\r ]*/y
const SCALAR_END = /[,}\]\t\n\r ]/g

/** The members of a JSON object; undefined if the text is not one. */
export function membersOf(text: string): readonly JsonMember[] | undefined {
  const { members, end } = readMembers(text)
  return text[end] === '}' && skipSpace(text, end + 1) === text.length ? members : undefined
}

/** The members with which a JSON object begins, as far as the text has them whole. */
export function firstMembers(text: string): readonly JsonMember[] {
  return readMembers(text).members
}

/** `end`: where the object ends; -1 where the text is no object, or ends before. */
function readMembers(text: string): { readonly members: readonly JsonMember[]; readonly end: number } {
  const members: JsonMember[] = []
  let at = skipSpace(text, 0)
  if (text[at] !== '{') return { members, end: -1 }
  at = skipSpace(text, at + 1)
  while (text[at] === '"') {
    const from = at
    const nameTo = skipString(text, at)
    const colon = skipSpace(text, nameTo)
    const valueFrom = skipSpace(text, colon + 1)
    const to = skipValue(text, valueFrom)
    const name = nameIn(text.slice(from, nameTo))
    if (nameTo < 0 || name === undefined || text[colon] !== ':' || to <= valueFrom) return { members, end: -1 }
    members.push({ name, from, valueFrom, to })
    at = skipSpace(text, to)
    if (text[at] !== ',') break
    at = skipSpace(text, at + 1)
  }
  return { members, end: at }
}

const LAST_MEMBER = /,\s*"(\w{1,20})"\s*:\s*("[^"\\]{0,200}"|-?\d{1,20})\s*$/
const OBJECT_END = /\}\s*$/

/** The value of a member with which a JSON object ends: a number or a short text. The text may lack its beginning. */
export function lastMember(text: string, name: string): string | undefined {
  let rest = text.slice(0, OBJECT_END.exec(text)?.index ?? 0)
  for (let found = LAST_MEMBER.exec(rest); found !== null; found = LAST_MEMBER.exec(rest)) {
    if (found[1] === name) return found[2]
    rest = rest.slice(0, found.index)
  }
  return undefined
}

/** The text of an object, without the members of one name. */
export function withoutMember(text: string, members: readonly JsonMember[], name: string): string {
  const others = members.filter((member) => member.name !== name)
  return `{${others.map(({ from, to }) => text.slice(from, to)).join(',')}}`
}

/** The text of an object, with one more member at its end. */
export function withMember(text: string, name: string, value: string): string {
  const end = text.lastIndexOf('}')
  return `${text.slice(0, end)},${JSON.stringify(name)}:${value}${text.slice(end)}`
}

function nameIn(quoted: string): string | undefined {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  const name = parseJson(quoted)
  return typeof name === 'string' ? name : undefined
}

function skipSpace(text: string, at: number): number {
  SPACE.lastIndex = at
  SPACE.test(text)
  return SPACE.lastIndex
}

/** From the opening quote to the index after the closing one; -1 if that is missing. */
function skipString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return end + 1
  }
  return -1
}

function skipValue(text: string, at: number): number {
  const first = text[at]
  if (first === '"') return skipString(text, at)
  if (first === '{' || first === '[') return skipNested(text, at)
  SCALAR_END.lastIndex = at
  return SCALAR_END.exec(text)?.index ?? -1
}

const QUOTE = 0x22
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** By numbers of characters, because a message may have millions of them. */
function skipNested(text: string, from: number): number {
  let depth = 0
  for (let at = from; at >= 0 && at < text.length; ) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) {
      at = skipString(text, at)
      continue
    }
    at++
    if (char === OPEN_OBJECT || char === OPEN_ARRAY) depth++
    else if ((char === CLOSE_OBJECT || char === CLOSE_ARRAY) && --depth === 0) return at
  }
  return -1
}
