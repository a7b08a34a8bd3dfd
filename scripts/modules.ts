import { posix } from 'node:path'
import { parseSync } from 'oxc-parser'

/** One import or re-export of a module, as written. */
export interface Import {
  specifier: string
  typeOnly: boolean
}

export interface Export {
  name: string
  typeOnly: boolean
}

/** What a TypeScript file imports and exports, found without running it. */
export interface Module {
  imports: Import[]
  exports: Export[]
  /** The specifiers of `export * from`. */
  stars: string[]
}

export function readModule(path: string, text: string): Module {
  const { module, errors } = parseSync(path, text)
  if (errors[0] !== undefined) throw new Error(`${path} cannot be parsed: ${errors[0].message}`)
  const found: Module = { imports: [], exports: [], stars: [] }
  for (const { moduleRequest, entries } of module.staticImports) {
    const typeOnly = entries.length > 0 && entries.every((entry) => entry.isType)
    found.imports.push({ specifier: moduleRequest.value, typeOnly })
  }
  for (const { moduleRequest } of module.dynamicImports) {
    const literal = /^(['"])(.*)\1$/s.exec(text.slice(moduleRequest.start, moduleRequest.end))
    if (literal?.[2] !== undefined) found.imports.push({ specifier: literal[2], typeOnly: false })
  }
  for (const entry of module.staticExports.flatMap((statement) => statement.entries)) {
    const from = entry.moduleRequest?.value
    if (from !== undefined) found.imports.push({ specifier: from, typeOnly: entry.isType })
    if (entry.exportName.name !== null) found.exports.push({ name: entry.exportName.name, typeOnly: entry.isType })
    else if (from !== undefined) found.stars.push(from)
    else found.exports.push({ name: 'default', typeOnly: entry.isType })
  }
  return found
}

/** The repository path that a relative import, or one of `imports` in package.json, leads to; undefined for a package. */
export function resolveImport(from: string, specifier: string): string | undefined {
  const own = /^#(?:runtime|lazy)\/(.*)$/.exec(specifier)?.[1]
  if (own !== undefined) return `src/${own}.ts`
  return specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : undefined
}
