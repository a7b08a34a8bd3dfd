/** The declarations behind the subpath exports of the package. */
import { parseSync } from 'oxc-parser'
import { resolveImport } from '../modules.ts'
import type { Texts } from '../repository.ts'
import { type Declaration, type Member, readDeclarations } from './declarations.ts'

export interface Subpath {
  /** Such as `pannier/server`. */
  readonly name: string
  /** By its public name. */
  readonly declarations: ReadonlyMap<string, Declaration>
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly 'pannier-source': string }>>
}

export class Package {
  readonly subpaths: readonly Subpath[]
  readonly #texts: Texts
  readonly #files = new Map<string, ReadonlyMap<string, Declaration>>()
  #types: ReadonlyMap<string, Declaration> | undefined

  /** `texts`: the sources of `src`. */
  constructor(manifest: Manifest, texts: Texts) {
    this.#texts = texts
    this.subpaths = Object.entries(manifest.exports).flatMap(([name, target]) => {
      if (typeof target === 'string') return []
      const index = target['pannier-source'].replace('./', '')
      return [{ name: name.replace('.', 'pannier'), declarations: this.#exportsOf(index) }]
    })
  }

  /** The type of this name. No two types of the package have the same one. */
  type(name: string): Declaration | undefined {
    this.#types ??= new Map(
      [...this.#texts.keys()]
        .flatMap((path) => [...this.#declarationsIn(path).values()])
        .filter(({ kind }) => kind !== 'function' && kind !== 'constant')
        .map((each) => [each.name, each]),
    )
    return this.#types.get(name)
  }

  /** Where a declaration is documented: the subpath of its folder, if that exports it, else the first that does. */
  homeOf(declaration: Declaration): Subpath | undefined {
    const homes = this.subpaths.filter(({ declarations }) => [...declarations.values()].includes(declaration))
    const isOwn = ({ name }: Subpath): boolean => declaration.path.startsWith(`src/${name.replace('pannier/', '')}/`)
    return homes.find(isOwn) ?? homes[0]
  }

  /** The members of an interface or a class, its own before those of its bases in the package. */
  membersOf({ members, bases }: Declaration): readonly Member[] {
    const inherited = bases.flatMap((base) => {
      const declared = this.type(base.name)
      return declared === undefined ? [] : this.membersOf(declared).filter(({ name }) => base.has(name))
    })
    return [...members, ...inherited.filter(({ name }) => !members.some((own) => own.name === name))]
  }

  #exportsOf(index: string): ReadonlyMap<string, Declaration> {
    const { module } = parseSync(index, this.#text(index))
    const entries = module.staticExports.flatMap(({ entries: each }) => each)
    return new Map(
      entries.flatMap(({ exportName, importName, moduleRequest }) => {
        const from = moduleRequest && resolveImport(index, moduleRequest.value)
        const declared = from && importName.name !== null ? this.#declaration(from, importName.name) : undefined
        return declared && exportName.name !== null ? [[exportName.name, declared]] : []
      }),
    )
  }

  /** The declaration that a module exports, where it stands. Undefined if it comes from another package. */
  #declaration(path: string, name: string): Declaration | undefined {
    const own = this.#declarationsIn(path).get(name)
    if (own !== undefined) return own
    const { module } = parseSync(path, this.#text(path))
    const entry = module.staticExports.flatMap(({ entries }) => entries).find((each) => each.exportName.name === name)
    const from = entry?.moduleRequest && resolveImport(path, entry.moduleRequest.value)
    return from && entry.importName.name !== null ? this.#declaration(from, entry.importName.name) : undefined
  }

  #declarationsIn(path: string): ReadonlyMap<string, Declaration> {
    const found = this.#files.get(path) ?? readDeclarations(path, this.#text(path))
    this.#files.set(path, found)
    return found
  }

  #text(path: string): string {
    const text = this.#texts.get(path)
    if (text === undefined) throw new Error(`There is no source ${path}.`)
    return text
  }
}
