/** A folder with a package.json and its sources; resolves names across files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative, resolve, sep } from 'node:path'
import type { Node } from 'oxc-parser'
import { Findings } from './findings.ts'
import { type Binding, bindingOf } from './names.ts'
import { Source } from './source.ts'

const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/
const TEST = /(^|\/)(__tests__|tests?)\/|\.(test|spec)\.[cm]?[jt]sx?$/
const LEFT_OUT = new Set(['node_modules', 'dist', 'build', 'out', 'coverage', '.git', '.next', '.wrangler'])

/** The SDK that a name comes from. */
export type Sdk = 'v1' | 'v2' | 'fastmcp'

export interface Manifest {
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

export interface Definition {
  readonly source: Source
  readonly binding: Binding
}

export class Project {
  readonly folder: string
  readonly manifest: Manifest
  readonly sources = new Map<string, Source>()
  readonly findings = new Findings()

  constructor(path: string) {
    this.folder = resolve(path)
    this.manifest = readManifest(this.folder)
    for (const file of filesIn(this.folder)) {
      const text = readFileSync(join(this.folder, file), 'utf8')
      try {
        this.sources.set(file, new Source(file, text))
      } catch (error) {
        if (sdkOf(text) === undefined) continue
        this.findings.add(
          { path: file, line: 1 },
          'the file',
          `cannot be parsed: ${(error as Error).message}`,
          'mend it, and run this again',
        )
      }
    }
  }

  /** The declaration of a name, in this file or in the one that it is imported from. */
  definitionOf(source: Source, node: Node, name?: string): Definition | undefined {
    const wanted = name ?? (node.type === 'Identifier' ? node.name : undefined)
    const binding = wanted === undefined ? undefined : bindingOf(source, node, wanted)
    if (binding === undefined) return undefined
    if (binding.kind !== 'import') return { source, binding }
    return this.#exported(this.#moduleOf(source, binding.module), binding.imported) ?? { source, binding }
  }

  #moduleOf({ path }: Source, specifier: string): Source | undefined {
    if (!specifier.startsWith('.')) return undefined
    const base = posix.join(posix.dirname(path), specifier)
    const stem = base.replace(/\.[cm]?js$/, '')
    const tries = [base, ...['.ts', '.tsx', '.mts', '/index.ts', '.js', '/index.js'].map((end) => stem + end)]
    return tries.map((one) => this.sources.get(one)).find((one) => one !== undefined)
  }

  #exported(source: Source | undefined, name: string): Definition | undefined {
    if (source === undefined) return undefined
    for (const statement of source.program.body) {
      if (statement.type === 'ExportAllDeclaration' && statement.exported == null) {
        const found = this.#exported(this.#moduleOf(source, statement.source.value), name)
        if (found !== undefined) return found
      }
      if (statement.type !== 'ExportNamedDeclaration') continue
      for (const { local, exported } of statement.specifiers) {
        const [from, as] = [textOf(local), textOf(exported)]
        if (as !== name) continue
        if (statement.source != null) return this.#exported(this.#moduleOf(source, statement.source.value), from)
        return this.definitionOf(source, statement, from)
      }
    }
    const inside = source.program.body[0]
    const binding = inside === undefined ? undefined : bindingOf(source, inside, name)
    return binding === undefined || binding.kind === 'import' ? undefined : { source, binding }
  }
}

/** Tests drive a server in their own ways, so they are read and not changed. */
export function isTest({ path }: Source): boolean {
  return TEST.test(path)
}

function textOf(name: Node): string {
  return name.type === 'Identifier' ? name.name : name.type === 'Literal' ? String(name.value) : ''
}

/** Which SDK a module specifier belongs to. */
export function sdkOfModule(specifier: string): Sdk | undefined {
  if (specifier.startsWith('@modelcontextprotocol/sdk')) return /\/sdk\/client\//.test(specifier) ? undefined : 'v1'
  if (/^@modelcontextprotocol\/(server|node)(\/|$)/.test(specifier)) return 'v2'
  return /^fastmcp(\/|$)/.test(specifier) ? 'fastmcp' : undefined
}

function sdkOf(text: string): Sdk | undefined {
  return [...text.matchAll(/from\s+['"]([^'"]+)['"]/g)].map(([, one = '']) => sdkOfModule(one)).find((one) => one)
}

/** The name that an identifier has in its SDK; undefined for everything else. */
export function sdkName(source: Source, node: Node): { sdk: Sdk; name: string } | undefined {
  if (node.type !== 'Identifier') return undefined
  const binding = bindingOf(source, node, node.name)
  if (binding?.kind !== 'import') return undefined
  const sdk = sdkOfModule(binding.module)
  return sdk && { sdk, name: binding.imported }
}

function readManifest(folder: string): Manifest {
  const path = join(folder, 'package.json')
  if (!existsSync(path))
    throw new Error(`There is no package.json in ${folder}. Give the folder of the server's package.`)
  const text = readFileSync(path, 'utf8')
  try {
    return { text, json: JSON.parse(text) as Record<string, unknown> }
  } catch (cause) {
    throw new Error(`The package.json in ${folder} is no JSON: ${(cause as Error).message}`, { cause })
  }
}

function filesIn(folder: string): string[] {
  const found: string[] = []
  const visit = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const full = join(path, entry.name)
      if (entry.isDirectory()) {
        if (!LEFT_OUT.has(entry.name) && !existsSync(join(full, 'package.json'))) visit(full)
      } else if (entry.isFile() && SOURCE.test(entry.name)) {
        found.push(relative(folder, full).split(sep).join('/'))
      }
    }
  }
  visit(folder)
  return found.toSorted()
}
