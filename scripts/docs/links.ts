import { posix } from 'node:path'
import type { Texts } from '../repository.ts'
import { readFences } from './fences.ts'
import { anchorOf } from './markdown.ts'

export interface Repository {
  /** Whether a file or folder is there, by its path in the repository. */
  exists(path: string): boolean
  read(path: string): string | undefined
  /** The names of scripts that pages may run. */
  scripts: readonly string[]
}

const folders = [
  'src',
  'test',
  'docs',
  'examples',
  'scripts',
  'create-pannier',
  'bench',
  'conformance',
  'probe-corpus',
  'interop',
  'bin',
  'changes',
  'site',
]
const builtIn = new Set(['test', 'install', 'ci', 'pack', 'init', 'pkg', 'create', 'exec', 'start'])

/** Links, named paths and commands of these pages that lead nowhere. */
export function linkProblems(pages: Texts, repository: Repository): string[] {
  const problems: string[] = []
  for (const [path, page] of pages) {
    const prose = page.replace(/^```[^]*?^```$/gm, '')
    const found = [
      ...proseLinks(prose).flatMap((link) => oneLink(path, page, link, repository)),
      ...namedPaths(prose).flatMap((name) => (repository.exists(name) ? [] : [`\`${name}\` is not there`])),
      ...shellFences(page).flatMap((command) => oneCommand(command, repository)),
    ]
    problems.push(...new Set(found.map((problem) => `${path}: ${problem}`)))
  }
  return problems
}

function proseLinks(prose: string): string[] {
  const withoutCode = prose.replace(/`[^`\n]*`/g, '')
  return [...withoutCode.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)].map((match) => match[1] ?? '')
}

function oneLink(from: string, page: string, link: string, { exists, read }: Repository): string[] {
  if (/^[a-z][a-z+.-]*:/i.test(link)) return []
  const [target = '', anchor] = link.split('#')
  const path = target === '' ? from : posix.join(posix.dirname(from), decodeURI(target))
  if (!exists(path)) return [`link to ${link}, but ${path} is not there`]
  if (!anchor || !path.endsWith('.md')) return []
  const text = target === '' ? page : (read(path) ?? '')
  return headings(text).includes(anchor) ? [] : [`link to ${link}, but ${path} has no such heading`]
}

/** The anchors GitHub gives to a page's headings. */
function headings(page: string): string[] {
  return [...page.matchAll(/^#+ +(.+)$/gm)].map((match) => anchorOf(match[1] ?? ''))
}

/** Paths of this repository in code marks; patterns and placeholders are not paths. */
function namedPaths(prose: string): string[] {
  const codes = [...prose.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '')
  return codes
    .filter((code) => folders.some((folder) => code.startsWith(`${folder}/`)) && /^[\w./@-]+$/.test(code))
    .map((code) => code.replace(/\/$/, ''))
}

function shellFences(page: string): string[] {
  const fences = readFences(page).filter(({ language }) => ['sh', 'bash', 'shell'].includes(language))
  return fences.flatMap(({ body }) =>
    body.split(/\n|&&|;|\|/).map((command) => command.replace(/(^|\s)#.*$/, '').trim()),
  )
}

function oneCommand(command: string, { exists, scripts }: Repository): string[] {
  const problems: string[] = []
  const run = /\bnpm (?:run )?([\w:-]+)/.exec(command)
  const script = run?.[1] ?? ''
  const needsScript = run !== null && (run[0].startsWith('npm run') || script === 'test')
  if (needsScript && !scripts.includes(script)) problems.push(`\`${command}\`: package.json has no script ${script}`)
  if (run !== null && !needsScript && !builtIn.has(script))
    problems.push(`\`${command}\`: npm has no such command here`)
  for (const word of command.split(/\s+/)) {
    const path = word.replace(/^\.\//, '')
    const local = word.startsWith('./') || folders.some((folder) => word.startsWith(`${folder}/`))
    if (local && /^[\w./@-]+$/.test(path) && !exists(path)) problems.push(`\`${command}\`: ${path} is not there`)
  }
  return problems
}
