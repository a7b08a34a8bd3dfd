/** The reference of one subpath export: its functions, classes, options and types. */
import type { Member } from './declarations.ts'
import { type Entries, type Entry, linkTo, pageOf } from './entries.ts'
import { code, prose, table } from '../docs/markdown.ts'
import type { Subpath } from './package.ts'

const isOptions = ({ name, declaration }: Entry): boolean =>
  /(Options|Settings|Limits)$/.test(name) && declaration.kind !== 'function'

/** An entry is in the first group that has it. */
const GROUPS: readonly { readonly title: string; readonly has: (entry: Entry) => boolean }[] = [
  { title: 'Functions', has: ({ declaration }) => declaration.kind === 'function' },
  { title: 'Options', has: isOptions },
  { title: 'Classes', has: ({ declaration }) => declaration.kind === 'class' },
  { title: 'Constants', has: ({ declaration }) => declaration.kind === 'constant' },
  { title: 'Types', has: () => true },
]

export function exportsReference(subpath: Subpath, entries: Entries): string {
  const grouped = Map.groupBy(entries.of(subpath), (entry) => GROUPS.find(({ has }) => has(entry)))
  const groups = GROUPS.flatMap((group) => {
    const inGroup = grouped.get(group) ?? []
    return inGroup.length === 0
      ? []
      : [`## ${group.title}`, ...inGroup.map((entry) => section(entry, subpath, entries))]
  })
  return [...groups, alsoExported(subpath, entries)].filter((text) => text !== '').join('\n\n')
}

/** Functions, and options of functions, without a sentence. */
export function undocumented(entries: Entries): string[] {
  return entries.package.subpaths.flatMap((subpath) =>
    entries.of(subpath).flatMap((entry) => {
      const { declaration, name } = entry
      const members = isOptions(entry) ? entries.package.membersOf(declaration) : []
      const parts = [
        ...(declaration.kind === 'function' ? [{ name, doc: declaration.doc }] : []),
        ...members.map((member) => ({ name: `${name}.${member.name}`, doc: member.doc })),
      ]
      return parts
        .filter(({ doc }) => doc.text === '')
        .map((part) => `${declaration.path}: write a comment of one sentence for ${part.name}`)
    }),
  )
}

function section(entry: Entry, subpath: Subpath, entries: Entries): string {
  const { declaration, heading, isPublic } = entry
  const isTable = declaration.kind === 'interface' || declaration.kind === 'class'
  return [
    `### ${heading}`,
    declaration.kind === 'interface' ? '' : definition(entry),
    prose(declaration.doc.text),
    isOptions(entry) ? takenBy(entry, entries.of(subpath)) : '',
    isTable ? memberTable(entry, entries) : seeAlso(entry, entries),
    isPublic ? '' : 'This type has no export of its own.',
  ]
    .filter((text) => text !== '')
    .join('\n\n')
}

function definition({ name, declaration }: Entry): string {
  const texts = declaration.definitions.map(({ text }) => text.replace(declaration.name, name))
  return ['```ts', ...texts, '```'].join('\n')
}

/** The functions that take these options. */
function takenBy({ declaration, page }: Entry, all: readonly Entry[]): string {
  const takers = all.filter(
    (other) =>
      other.declaration.kind === 'function' &&
      other.declaration.definitions.some(({ names }) => names.includes(declaration.name)),
  )
  return takers.length === 0 ? '' : `Options of ${takers.map((taker) => linkTo(taker, page)).join(', ')}.`
}

function memberTable(entry: Entry, entries: Entries): string {
  const { declaration, page } = entry
  const members = entries.package.membersOf(declaration)
  if (members.length === 0) return ''
  const hasDefaults = isOptions(entry) || members.some(({ doc }) => doc.standard !== undefined)
  const rows = members
    .toSorted((a, b) => (hasDefaults ? Number(isRequired(b)) - Number(isRequired(a)) : 0))
    .map((member) => [
      code(member.isOptional && !hasDefaults ? `${member.name}?` : member.name),
      prose(member.doc.text),
      hasDefaults ? standardOf(member) : '',
      entries.linked(member.type, page),
    ])
  return table(['name', 'what it is', 'default', 'type'], rows)
}

function seeAlso({ declaration, page }: Entry, entries: Entries): string {
  const names = new Set(declaration.definitions.flatMap((each) => each.names))
  names.delete(declaration.name)
  const links = [...names].flatMap((name) => entries.typeLink(name, page) ?? [])
  return links.length === 0 ? '' : `See ${links.join(', ')}.`
}

/** Names that this subpath exports as well, and whose home is another. */
function alsoExported(subpath: Subpath, entries: Entries): string {
  const here = pageOf(subpath)
  const links = [...subpath.declarations.values()].flatMap((declaration) => {
    const entry = entries.find(declaration, here)
    return entry === undefined || entry.page === here ? [] : [linkTo(entry, here)]
  })
  return links.length === 0 ? '' : `## Also exported\n\n${links.join(', ')}.`
}

function isRequired({ isOptional, doc }: Member): boolean {
  return !isOptional && doc.standard === undefined
}

function standardOf({ doc: { standard }, isOptional }: Member): string {
  if (standard !== undefined) return standardText(standard)
  return isOptional ? 'none' : 'required'
}

/** A default as the source says it; a literal at its beginning is code. */
export function standardText(standard: string): string {
  return prose(standard.replace(/^('[^']*'|-?\d[\d_.]*|true|false|\{.*?\}|\[.*?\]|[A-Z]\w+\.\w+)(?=$|[,;: ])/, '`$1`'))
}
