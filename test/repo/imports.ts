import { posix } from 'node:path'
import { readModule, resolveImport } from '../../scripts/modules.ts'
import { isTest, type Texts } from '../../scripts/repository.ts'
import { type Access, folders, parts } from './importTable.ts'

const homeless = ['utils', 'helpers', 'shared']

/** Every break of the import rules in these files, as sentences. */
export function importProblems(texts: Texts): string[] {
  return [...texts].flatMap(([path, text]) => [...folderProblems(path), ...fileProblems(path, text)])
}

function folderProblems(path: string): string[] {
  const bad = path
    .split('/')
    .slice(0, -1)
    .filter((part) => homeless.includes(part))
  return bad.map((part) => `${path}: a folder named ${part} has no idea; name it after what it holds.`)
}

function fileProblems(path: string, text: string): string[] {
  const home = folderOf(path)
  if (home === undefined) return []
  const allowed = folders[home]
  if (allowed === undefined) return [`${path}: folder ${home} is not in the table of test/repo/importTable.ts.`]
  const { imports, stars } = readModule(path, text)
  const problems = stars.map((from) => `${path}: export * from '${from}'; list the names one by one.`)
  for (const { specifier, typeOnly } of imports) {
    const target = resolveImport(path, specifier) ?? ownPackage(specifier)
    const problem = target && importProblem({ path, home, allowed, target, typeOnly })
    if (problem) problems.push(`${path}: imports ${specifier}; ${problem}`)
  }
  return problems
}

interface Edge {
  path: string
  home: string
  allowed: Record<string, Access>
  target: string
  typeOnly: boolean
}

function importProblem({ path, home, allowed, target, typeOnly }: Edge): string | undefined {
  const folder = folderOf(target)
  if (folder === home) return partProblem(path, target, home)
  if (folder === undefined) {
    if (target === 'package.json' || (isTest(path) && target.startsWith('test/'))) return undefined
    return 'src imports only from src and package.json; a test may also import from test/.'
  }
  const access = allowed[folder]
  if (access === undefined) return `${home} may not import ${folder}.`
  if (access === 'names' && path !== `src/${home}/index.ts`) return `only src/${home}/index.ts may name ${folder}.`
  if (access === 'types' && !typeOnly && !isTest(path)) return `${home} may import only types of ${folder}.`
  if (!isEntry(target, folder)) {
    return `another folder is entered through src/${folder}/index.ts, its internal.ts, or the index.ts of one of its parts.`
  }
  return undefined
}

/** Whether other folders may import this file of a folder: its index, its internal.ts, or the index of one of its parts. */
function isEntry(target: string, folder: string): boolean {
  const part = partOf(target)
  const inFolder = part === undefined ? `src/${folder}` : `src/${folder}/${part}`
  return target === `${inFolder}/index.ts` || target === `src/${folder}/internal.ts`
}

/** Inside one folder: whether a subfolder may import another. Tests may import any part of their own folder. */
function partProblem(path: string, target: string, home: string): string | undefined {
  const from = partOf(path)
  const to = partOf(target)
  if (from === undefined || to === undefined || from === to || isTest(path)) return undefined
  const row = parts[home]?.[from]
  if (row === undefined) return `${home}/${from} is not in the table of test/repo/importTable.ts.`
  return row.includes(to) ? undefined : `in ${home}, ${from} may not import ${to}.`
}

/** `src/state/jar/rules.ts` lies in the part `jar`; a file directly in a folder lies in none. */
function partOf(path: string): string | undefined {
  const [, , part, file] = path.split('/')
  return file === undefined ? undefined : part
}

/** `src/state/seal/seal.ts` lies in `state`; files outside src have no folder. */
function folderOf(path: string): string | undefined {
  const [top, folder, file] = path.split('/')
  return top === 'src' && file !== undefined ? folder : undefined
}

/** Inside src the package is not imported by its own name, except by tests, which may use the public door. */
function ownPackage(specifier: string): string | undefined {
  const subpath = /^pannier\/(.+)$/.exec(specifier)?.[1]
  return subpath && `src/${subpath}/index.ts`
}

/** Every import circle among these files, each named once, as `a -> b -> a`. */
export function importCircles(texts: Texts): string[] {
  const edges = new Map<string, string[]>()
  for (const [path, text] of texts) {
    const targets = readModule(path, text).imports.map(({ specifier }) => resolveImport(path, specifier))
    edges.set(path, [...new Set(targets.filter((target) => target !== undefined && texts.has(target)))] as string[])
  }
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) circles.push([...trail.slice(at), path].map((step) => posix.relative('src', step)).join(' -> '))
    if (at >= 0 || done.has(path)) return
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of edges.keys()) visit(path, [])
  return circles
}
