import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TEMPLATES, type TemplateName } from './templates.ts'

/** The package, seen from `src` and from `dist`. */
const root = fileURLToPath(new URL('..', import.meta.url))
export const { version: ownVersion } = readManifest(join(root, 'package.json'))

/** npm does not pack files of these names, or reads them as its own. */
const RENAMED: Readonly<Record<string, string>> = {
  _gitignore: '.gitignore',
  _dockerignore: '.dockerignore',
  _env: '.env',
}

/** The placeholders in template files. */
const PLACEHOLDERS = /\/path\/to\/my-server|my-server|a-key-of-your-own|"pannier": "\*"/g

export interface Project {
  /** An absolute path. */
  folder: string
  /** The name of the package and of the server. */
  name: string
  template: TemplateName
}

export function projectAt(path: string, template: TemplateName): Project {
  const folder = resolve(path)
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  if (name === '') throw new Error(`"${path}" gives the project no name. Choose a folder with a letter in its name.`)
  return { folder, name, template }
}

/** Throws unless the folder is new, or has nothing but an empty repository in it. */
export function assertEmpty(path: string): void {
  if (!existsSync(path)) return
  if (!statSync(path).isDirectory()) throw new Error(`${path} is a file. Choose another folder.`)
  const [first, ...more] = readdirSync(path).filter((name) => name !== '.git')
  if (first === undefined) return
  const others = more.length === 0 ? '' : ` and ${more.length} more`
  throw new Error(
    `The folder ${path} is not empty: it has ${first}${others}. Choose another folder, or empty it first.`,
  )
}

export function createProject(project: Project): void {
  assertEmpty(project.folder)
  for (const [path, text] of filesOf(project)) {
    const target = join(project.folder, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
}

/** The files of a project by their paths. */
function filesOf(project: Project): Map<string, string> {
  const files = new Map<string, string>()
  for (const folder of TEMPLATES[project.template].folders) {
    const from = join(root, 'templates', folder)
    for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath.slice(from.length), RENAMED[entry.name] ?? entry.name)
      files.set(path, fillIn(readFileSync(join(entry.parentPath, entry.name), 'utf8'), project))
    }
  }
  return files
}

/** Replaces the placeholders of template files by the project's values. */
function fillIn(text: string, { folder, name }: Project): string {
  const own: Readonly<Record<string, string>> = {
    '/path/to/my-server': folder.replaceAll('\\', '/'),
    'my-server': name,
    '"pannier": "*"': `"pannier": "^${ownVersion}"`,
  }
  return text.replaceAll(PLACEHOLDERS, (found) => own[found] ?? newKey())
}

/** As `pannier keys new` makes them. */
function newKey(): string {
  return randomBytes(32).toString('base64url')
}

function readManifest(path: string): { version: string } {
  return JSON.parse(readFileSync(path, 'utf8')) as { version: string }
}
