// `npm run docs` fills the code fences from their files and the reference from the sources, and writes
// docs/reference/requirements.md. `node --conditions=pannier-source scripts/docs.ts check fences|links|reference|requirements` only looks, and
// exits with 1 when something is wrong.
import { existsSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import template from '../create-pannier/templates/http/package.json' with { type: 'json' }
import data from '../docs/reference/requirements.json' with { type: 'json' }
import manifest from '../package.json' with { type: 'json' }
import { fenceProblems, fillFences } from './docs/fences.ts'
import { linkProblems } from './docs/links.ts'
import { fillRegions, regionsIn, withoutRegions } from './docs/regions.ts'
import { type Reference, readReference } from './reference/reference.ts'
import { isTest, listFiles, readIfThere as read, readText, readTexts, root, type Texts } from './repository.ts'
import { citationsInTests, requirementProblems, requirementsPage } from './requirements.ts'

const requirementsPath = 'docs/reference/requirements.md'
const files = listFiles()
const exists = (path: string): boolean => existsSync(join(root, path))
/** Those of this package, and of a project that `npm create pannier` makes. */
const scripts = [manifest, template].flatMap((each) => Object.keys(each.scripts))
const isPage = (path: string): boolean => /^([^/]+|(docs|examples|changes)\/.+)\.md$/.test(path)

const pages = files.filter(isPage)

const checks: Record<string, () => string[] | Promise<string[]>> = {
  fences: () => fenceProblems(handwritten(), readTexts(files.filter(isTest)), read),
  links: () => linkProblems(readTexts(pages), { exists, read, scripts }),
  reference: checkReference,
  requirements: checkRequirements,
}

/** The pages without what is written from the sources. */
function handwritten(): Texts {
  return new Map(pages.map((path) => [path, withoutRegions(readText(path))]))
}

async function checkReference(): Promise<string[]> {
  const reference = await readReference()
  const stale = pages.filter((path) => filled(path, reference) !== readText(path))
  const shown = pages.flatMap((path) => regionsIn(readText(path)))
  return [
    ...reference.problems,
    ...stale.map((path) => `${path} is stale; run npm run docs`),
    ...reference.required
      .filter((what) => !shown.includes(what))
      .map((what) => `no page has <!-- generated: ${what} --> with its <!-- /generated -->`),
  ]
}

function filled(path: string, { write: text }: Reference): string {
  return fillRegions(readText(path), (what) => text(what, basename(path)))
}

function checkRequirements(): string[] {
  const citations = citationsInTests()
  const stale = read(requirementsPath) !== requirementsPage(citations)
  const problems = requirementProblems(data.requirements, citations)
  return stale ? [...problems, `${requirementsPath} is stale; run npm run docs`] : problems
}

async function write(): Promise<void> {
  const reference = await readReference()
  for (const path of pages) save(path, filled(path, reference))
  for (const path of pages) save(path, fillFences(readText(path), read))
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
  const problems = check ? await check() : [`there is no check ${name}; there are ${Object.keys(checks).join(', ')}`]
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
} else await write()
