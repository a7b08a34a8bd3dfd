/** The contents of a jar, for people and for programs. Servers choose the names, so they are escaped for terminals. */
import type { JarEntry, JarItem } from '../../state/jar/index.ts'
import { age, alignColumns } from './layout.ts'
import { printableJson } from './json.ts'

const MAX_COLUMN = 60
const HEADINGS = ['SERVER', 'PRINCIPAL', 'SCOPE', 'CONTEXT', 'NAME', 'BYTES', 'AGE']

/** A table with a line for each entry. Long names are cut. */
export function jarTable(entries: readonly JarEntry[], now: number): string {
  const rows = entries.map(({ server, principal, scope, context, name, bytes, updatedAt }) => [
    cutStart(shown(server)),
    ...[shown(principal), scope, shown(context), shown(name), String(bytes), age(now - updatedAt)].map(cutEnd),
  ])
  return alignColumns([HEADINGS, ...rows])
}

/** A paragraph for each entry, with nothing cut. */
export function itemsText(items: readonly JarItem[], { values, now }: { values: boolean; now: number }): string {
  const texts = items.map(({ server, principal, scope, context, name, bytes, updatedAt, usedAt, value }) => {
    const facts = [
      ['  principal', shown(principal)],
      ['  scope', context === undefined ? scope : `${scope}, context ${shown(context)}`],
      ['  bytes', String(bytes)],
      ['  set', moment(updatedAt, now)],
      ['  used', moment(usedAt, now)],
      ['  value', values ? printableJson(value).replaceAll('\n', '\n             ') : 'hidden; --values prints it'],
    ]
    return `${shown(server)}: ${shown(name)}\n${alignColumns(facts)}`
  })
  return texts.join('\n\n')
}

/** For programs. */
export function jarData(entries: readonly (JarEntry | JarItem)[], values = false): readonly object[] {
  return entries.map((entry) => ({
    server: entry.server,
    principal: entry.principal,
    scope: entry.scope,
    context: entry.context,
    name: entry.name,
    bytes: entry.bytes,
    updatedAt: new Date(entry.updatedAt).toISOString(),
    usedAt: new Date(entry.usedAt).toISOString(),
    ...(values && 'value' in entry && { value: entry.value }),
  }))
}

/** Printable text as it is, other text as a JSON string. */
function shown(text: string | undefined): string {
  if (text === undefined) return '-'
  const isPlain = /^[\p{L}\p{N}\p{P}\p{S}]+( [\p{L}\p{N}\p{P}\p{S}]+)*$/u.test(text) && !/["\\]|^-$/.test(text)
  return isPlain ? text : printableJson(text)
}

function cutEnd(text: string): string {
  const characters = Array.from(text)
  return characters.length <= MAX_COLUMN ? text : `${characters.slice(0, MAX_COLUMN - 1).join('')}…`
}

/** The file of a command line, or the registered domain, is at the end. */
function cutStart(text: string): string {
  const characters = Array.from(text)
  return characters.length <= MAX_COLUMN ? text : `…${characters.slice(1 - MAX_COLUMN).join('')}`
}

function moment(time: number, now: number): string {
  return `${new Date(time).toISOString()} (${age(now - time)} ago)`
}
