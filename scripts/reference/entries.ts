/** What the page of each subpath export documents, and the links to it. */
import type { Declaration, TypeText } from './declarations.ts'
import { anchorOf, code } from '../docs/markdown.ts'
import type { Package, Subpath } from './package.ts'

export interface Entry {
  /** The public name, or that of the declaration if it has none. */
  readonly name: string
  readonly declaration: Declaration
  readonly isPublic: boolean
  /** The file of its page in docs/reference. */
  readonly page: string
  readonly heading: string
}

export class Entries {
  readonly package: Package
  readonly #pages: ReadonlyMap<string, readonly Entry[]>

  constructor(all: Package) {
    this.package = all
    this.#pages = new Map(all.subpaths.map((subpath) => [subpath.name, entriesOf(subpath, all)]))
  }

  of({ name }: Subpath): readonly Entry[] {
    return this.#pages.get(name) ?? []
  }

  /** The entry of a declaration: on this page if it is there. */
  find(declaration: Declaration | undefined, page: string): Entry | undefined {
    const found = [...this.#pages.values()].flat().filter((entry) => entry.declaration === declaration)
    return found.find((entry) => entry.page === page) ?? found[0]
  }

  /** A link to the type of this name, as it stands on a page; undefined if it is not documented. */
  typeLink(name: string, page: string): string | undefined {
    const entry = this.find(this.package.type(name), page)
    return entry && linkTo(entry, page)
  }

  /** A type in code marks, with links to the types of the package. */
  linked({ text, names }: TypeText, page: string): string {
    const links = new Map(names.map((name) => [name, this.typeLink(name, page)]))
    const parts = text.split(/('[^']*'|\b\w+\b)/).map((part) => ({ part, link: links.get(part) }))
    let shown = ''
    let plain = ''
    for (const { part, link } of parts) {
      if (link === undefined) plain += part
      else {
        shown += code(plain) + link
        plain = ''
      }
    }
    return shown + code(plain)
  }
}

export function linkTo({ name, page, heading }: Entry, from: string): string {
  return `[${code(name)}](${page === from ? '' : page}#${anchorOf(heading)})`
}

export function pageOf({ name }: Subpath): string {
  return `${name.replace('/', '-')}.md`
}

/** What has its home in this subpath, and the types without an export that these mention. */
function entriesOf(subpath: Subpath, all: Package): Entry[] {
  const found = new Map<Declaration, { name: string; isPublic: boolean }>()
  const add = (name: string, declaration: Declaration, isPublic: boolean): void => {
    if (found.has(declaration)) return
    found.set(declaration, { name, isPublic })
    for (const type of mentionedBy(declaration, all)) {
      if (type.kind !== 'class' && all.homeOf(type) === undefined) add(type.name, type, false)
    }
  }
  for (const [name, declaration] of subpath.declarations) {
    if (all.homeOf(declaration) === subpath) add(name, declaration, true)
  }
  const names = [...found.values()].map(({ name }) => name)
  return [...found]
    .map(([declaration, { name, isPublic }]) => {
      const hasTwin = names.some((other) => other !== name && anchorOf(other) === anchorOf(name))
      return { name, declaration, isPublic, page: pageOf(subpath), heading: headingOf(name, declaration, hasTwin) }
    })
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'))
}

function mentionedBy(declaration: Declaration, all: Package): Declaration[] {
  const { kind, definitions } = declaration
  const own = kind === 'interface' || kind === 'class' ? [] : definitions
  const texts = [...own, ...all.membersOf(declaration).map(({ type }) => type)]
  return texts.flatMap(({ names }) => names).flatMap((name) => all.type(name) ?? [])
}

/** Anchors know no capitals, so a type with the name of a function says that it is a type. */
function headingOf(name: string, { kind }: Declaration, hasTwin: boolean): string {
  if (kind === 'function') return `${name}()`
  return hasTwin ? `${name} (${kind === 'class' ? 'class' : 'type'})` : name
}
