// `npm run docs` fills the code fences from their files and writes docs/reference/requirements.md.
// `node scripts/docs.ts check fences|links|requirements` only looks, and exits with 1 when something is wrong.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import template from '../create-pannier/templates/http/package.json' with { type: 'json' }
import data from '../docs/reference/requirements.json' with { type: 'json' }
import manifest from '../package.json' with { type: 'json' }
import { fenceProblems, fillFences } from './docs/fences.ts'
import { linkProblems } from './docs/links.ts'
import { isTest, listFiles, readIfThere as read, readText, readTexts, root } from './repository.ts'
import { citationsInTests, requirementProblems, requirementsPage } from './requirements.ts'

const requirementsPath = 'docs/reference/requirements.md'
const files = listFiles()
const exists = (path: string): boolean => existsSync(join(root, path))
/** Those of this package, and of a project that `npm create pannier` makes. */
const scripts = [manifest, template].flatMap((each) => Object.keys(each.scripts))
const isPage = (path: string): boolean => /^([^/]+|(docs|examples|changes)\/.+)\.md$/.test(path)

const checks: Record<string, () => string[]> = {
  fences: () => fenceProblems(readTexts(files.filter(isPage)), readTexts(files.filter(isTest)), read),
  links: () => linkProblems(readTexts(files.filter(isPage)), { exists, read, scripts }),
  requirements: checkRequirements,
}

function checkRequirements(): string[] {
  const citations = citationsInTests()
  const stale = read(requirementsPath) !== requirementsPage(citations)
  const problems = requirementProblems(data.requirements, citations)
  return stale ? [...problems, `${requirementsPath} is stale; run npm run docs`] : problems
}

function write(): void {
  for (const path of files.filter(isPage)) save(path, fillFences(readText(path), read))
  save(requirementsPath, requirementsPage(citationsInTests()))
}

function save(path: string, text: string): void {
  if (read(path) === text) return
  writeFileSync(join(root, path), text)
  console.log(`wrote ${path}`)
}

const [verb, name = ''] = process.argv.slice(2)
if (verb === 'check') {
  const check = checks[name]
  const problems = check ? check() : [`there is no check ${name}; there are ${Object.keys(checks).join(', ')}`]
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
} else write()
