// `npm run release` makes a release of the version in package.json: it checks the tree, runs the tests, completes
// CHANGELOG.md, packs the packages with their SBOMs into the folder release, commits and tags. Pushing the tag starts the
// workflow that publishes. `-- --dry-run` commits nothing and prints the section of the changelog; `-- --skip-tests` runs
// no tests. The workflow uses `-- --pack`, which only packs, and `-- --notes`, which only prints the section.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import manifest from '../package.json' with { type: 'json' }
import { type ChangeNote, releasedChangelog, scopeOf, sectionOf } from './release/changelog.ts'
import { packages, packInto, run } from './release/pack.ts'
import { listFiles, readText, root } from './repository.ts'

const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    'skip-tests': { type: 'boolean', default: false },
    pack: { type: 'boolean', default: false },
    notes: { type: 'boolean', default: false },
  },
})
const isDry = values['dry-run']
const { version } = manifest
const tag = `v${version}`
const CHANGELOG = 'CHANGELOG.md'

const git = (...args: string[]): string => run('git', args).trim()

/** Why there can be no release now. */
function* obstacles(): Generator<string> {
  const branch = git('branch', '--show-current')
  if (branch !== 'main') yield `The branch is ${branch || 'none'}; releases are made on main.`
  if (git('status', '--porcelain') !== '') yield 'The tree has changes; commit them first.'
  if (git('tag', '--list', tag) !== '')
    yield `${tag} is there already; raise the version with npm version --no-git-tag-version, and commit it.`
  for (const released of packages.values())
    if (released.version !== version)
      yield `${released.name} has the version ${released.version}, and pannier ${version}.`
}

function readNotes(): ChangeNote[] {
  const paths = listFiles().filter((path) => /^changes\/[^/]+\.md$/.test(path))
  const added = git('log', '--diff-filter=A', '--name-only', '--format=%x00%s', '--', 'changes')
  const scopes = new Map<string, string>()
  for (const commit of added.split('\0')) {
    const [subject = '', ...files] = commit.split('\n')
    for (const file of files) scopes.set(file, scopeOf(subject))
  }
  return paths.map((path) => ({ path, text: readText(path), scope: scopes.get(path) ?? '' }))
}

function commitAndTag(notes: readonly ChangeNote[]): void {
  if (notes.length > 0) git('rm', '--quiet', '--', ...notes.map(({ path }) => path))
  git('add', CHANGELOG)
  git('commit', '--quiet', '--message', `chore(release): ${version}`)
  git('tag', '--annotate', tag, '--message', `pannier ${version}`)
}

function pack(): void {
  for (const path of packInto('release')) console.log(`Packed ${path}`)
}

function release(): void {
  const problems = [...obstacles()]
  for (const problem of problems) console.error(problem)
  if (problems.length > 0 && !isDry) throw new Error('Nothing was released.')
  const notes = readNotes()
  const date = new Date().toISOString().slice(0, 10)
  const before = readText(CHANGELOG)
  const changelog = releasedChangelog(before, { version, date, notes })
  if (!values['skip-tests']) run('npm', ['test'], { shown: true })
  if (!isDry) writeFileSync(join(root, CHANGELOG), changelog)
  try {
    pack()
  } catch (error) {
    writeFileSync(join(root, CHANGELOG), before)
    throw error
  }
  if (isDry) {
    console.log(`\n${sectionOf(changelog, version)}\n`)
    console.log(`Would remove ${notes.length} notes from changes/, commit CHANGELOG.md and tag ${tag}.`)
    process.exitCode = problems.length === 0 ? 0 : 1
    return
  }
  commitAndTag(notes)
  console.log(`Tagged ${tag}. To publish it: git push origin main ${tag}`)
}

try {
  if (values.notes) console.log(sectionOf(readText(CHANGELOG), version) ?? '')
  else if (values.pack) pack()
  else release()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
