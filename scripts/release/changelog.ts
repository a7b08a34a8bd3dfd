/** The changelog: sections of versions, and the notes of `changes/` joined into one. */

/** A note of `changes/`, with the scope of the commit that added it. */
export interface ChangeNote {
  readonly path: string
  readonly text: string
  readonly scope: string
}

/** More notes than this are no section that a person reads. */
export const MAX_NOTES = 60

/** The areas in the order of a section, and the scopes of each. Other scopes belong to the last one. */
const AREAS: readonly (readonly [area: string, scopes: readonly string[]])[] = [
  ['Server', ['server', 'journal', 'sdk', 'testing']],
  ['Sealed state and security', ['state']],
  ['Tasks and PostgreSQL', ['tasks', 'postgres']],
  ['Several instances', ['cluster']],
  ['Gateway', ['gateway']],
  ['Client', ['client']],
  ['Program', ['cli']],
  ['Probe', ['probe']],
  ['Everything else', []],
]

const UNRELEASED = 'unreleased'

/** The text below the heading of a version, or undefined if there is no such heading. */
export function sectionOf(changelog: string, version: string): string | undefined {
  const [heading] = headingOf(changelog, version) ?? []
  if (heading === undefined) return undefined
  const [section = ''] = changelog.slice(changelog.indexOf(heading) + heading.length).split(/^## /m)
  return section.trim()
}

/**
 * The changelog with the section of a version that is released on a date. A section that is there as unreleased is kept,
 * because a person wrote it from the notes; otherwise the notes are joined by area.
 */
export function releasedChangelog(
  changelog: string,
  { version, date, notes }: { version: string; date: string; notes: readonly ChangeNote[] },
): string {
  const released = `## ${version}, ${date}`
  const [heading, state] = headingOf(changelog, version) ?? []
  if (heading !== undefined && state !== UNRELEASED)
    throw new Error(`CHANGELOG.md says that ${version} was released on ${state}.`)
  if (heading !== undefined) return changelog.replace(heading, () => released)
  if (notes.length === 0) throw new Error(`There is no note in changes/, so ${version} would change nothing.`)
  if (notes.length > MAX_NOTES)
    throw new Error(
      `${notes.length} notes are too many to list. Sum them up in CHANGELOG.md, below \`## ${version}, ${UNRELEASED}\`.`,
    )
  const first = changelog.search(/^## /m)
  const at = first === -1 ? changelog.length : first
  return `${changelog.slice(0, at).trimEnd()}\n\n${released}\n\n${joinNotes(notes)}\n\n${changelog.slice(at)}`
}

/** The notes as lists, one below the name of each area. */
export function joinNotes(notes: readonly ChangeNote[]): string {
  return AREAS.flatMap(([area]) => {
    const items = notes.filter(({ scope }) => areaOf(scope) === area).map(({ text }) => itemOf(text))
    return items.length === 0 ? [] : [`### ${area}\n\n${items.join('\n')}`]
  }).join('\n\n')
}

/** The scope in the first line of a commit: of `fix(state): refuse a seal` it is `state`, of several the first. */
export function scopeOf(subject: string): string {
  return /^\w+\(([^),]+)/.exec(subject)?.[1]?.trim() ?? ''
}

function areaOf(scope: string): string {
  const [area = ''] = AREAS.find(([, scopes]) => scopes.includes(scope)) ?? AREAS.at(-1) ?? []
  return area
}

/** A note as an item of a list: without its title, and with links from the folder of the changelog. */
function itemOf(note: string): string {
  const text = note.replace(/^# .*\n+/, '').replaceAll('](../', '](')
  return `- ${text.trim().replaceAll(/\n(?=[^\n])/g, '\n  ')}`
}

function headingOf(changelog: string, version: string): readonly [heading: string, state: string] | undefined {
  for (const [heading, named, state = ''] of changelog.matchAll(/^## (\S+), (\S+)$/gm))
    if (named === version) return [heading, state]
  return undefined
}
