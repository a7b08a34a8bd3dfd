import { readModule } from '../../scripts/modules.ts'

/** The names one subpath gives its users. */
export interface PublicNames {
  values: string[]
  types: string[]
}

/** A subpath such as `pannier/server`, and its public names. */
export type Exports = Record<string, PublicNames>

interface Manifest {
  exports: Record<string, string | { 'pannier-source': string }>
}

/** The public names of each subpath in the manifest, read from its index.ts where that exists. */
export function publicNames(manifest: Manifest, read: (path: string) => string | undefined): Exports {
  const names: Exports = {}
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') continue
    const path = target['pannier-source'].replace('./', '')
    const text = read(path)
    if (text === undefined) continue
    const { exports } = readModule(path, text)
    const pick = (typeOnly: boolean): string[] =>
      exports
        .filter((entry) => entry.typeOnly === typeOnly)
        .map((entry) => entry.name)
        .toSorted()
    names[subpath.replace('.', 'pannier')] = { values: pick(false), types: pick(true) }
  }
  return names
}
