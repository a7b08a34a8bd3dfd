/** Which files of the repository are pages of the site, and where they stand there. */
import { posix } from 'node:path'
import { listFiles, readText } from '../scripts/repository.ts'

export interface Page {
  /** The file, by its path in the repository. */
  readonly path: string
  /** Its place on the site, such as `how-to/asking.md`. */
  readonly place: string
  readonly title: string
}

export interface Section {
  readonly title: string
  readonly pages: readonly Page[]
}

/** Pages outside of docs, and pages with another place there. */
const PLACES: Readonly<Record<string, string>> = {
  'README.md': 'index.md',
  'docs/README.md': 'contents.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
}

/** The folders of docs, in the order of the menu. */
const FOLDERS: Readonly<Record<string, string>> = {
  tutorials: 'Tutorials',
  'how-to': 'How-to guides',
  reference: 'Reference',
  explanation: 'Explanation',
}

/** The place of a file on the site; undefined if it is no page. */
export function placeOf(path: string): string | undefined {
  const isPage = path.startsWith('docs/') && path.endsWith('.md')
  return PLACES[path] ?? (isPage ? path.replace('docs/', '') : undefined)
}

export function readPages(): readonly Page[] {
  return listFiles().flatMap((path) => {
    const place = placeOf(path)
    return place === undefined ? [] : [{ path, place, title: titleOf(readText(path)) }]
  })
}

function titleOf(text: string): string {
  return (/^# (.+)$/m.exec(text)?.[1] ?? '').replaceAll('`', '')
}

/** The pages by their folders, in the order in which the table of contents names them, and then by title. */
export function sectionsOf(pages: readonly Page[]): Section[] {
  const contents = readText('docs/README.md')
  const rank = ({ place }: Page): number => {
    const at = contents.indexOf(`(${place}`)
    return at < 0 ? contents.length : at
  }
  const sorted = pages.toSorted((a, b) => rank(a) - rank(b) || a.title.localeCompare(b.title, 'en'))
  const inFolder = (folder: string): readonly Page[] => sorted.filter(({ place }) => posix.dirname(place) === folder)
  const folders = Object.entries(FOLDERS).map(([folder, title]) => ({ title, pages: inFolder(folder) }))
  const known = new Set([...Object.keys(FOLDERS), '.'])
  const others = [...new Set(pages.map(({ place }) => posix.dirname(place)))].filter((folder) => !known.has(folder))
  const top = inFolder('.').filter(({ place }) => place !== 'index.md')
  return [
    ...folders,
    ...others.map((folder) => ({ title: folder, pages: inFolder(folder) })),
    { title: 'Project', pages: top },
  ].filter((section) => section.pages.length > 0)
}
