/** JSON for people: what fits stands on one line, and opaque strings are cut to their start. */

const WIDTH = 100
const OPAQUE = /^[\w.~-]{61,}$/

export function formatJson(value: unknown, indent = ''): string {
  return `${indent}${format(value, indent)}`
}

function format(value: unknown, indent: string): string {
  const line = oneLine(value)
  if (indent.length + line.length <= WIDTH || typeof value !== 'object' || value === null) return line
  const inner = `${indent}  `
  const isList = Array.isArray(value)
  const members = isList
    ? value.map((member) => `${inner}${format(member, inner)}`)
    : Object.entries(value).map(([name, member]) => `${inner}${JSON.stringify(name)}: ${format(member, inner)}`)
  return [isList ? '[' : '{', members.join(',\n'), `${indent}${isList ? ']' : '}'}`].join('\n')
}

/** All of it on one line. */
export function oneLine(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(OPAQUE.test(value) ? shortened(value) : value)
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${oneLine(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** The length and the first characters tell one sealed string from another. */
function shortened(text: string): string {
  return `${text.slice(0, 12)}… (${text.length} characters)`
}
