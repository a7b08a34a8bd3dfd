import { describe, expect, test } from 'vitest'
import {
  type ChangeNote,
  joinNotes,
  MAX_NOTES,
  releasedChangelog,
  scopeOf,
  sectionOf,
} from '../../scripts/release/changelog.ts'
import { makeSbom, packages } from '../../scripts/release/pack.ts'
import { readText } from '../../scripts/repository.ts'
import manifest from '../../package.json' with { type: 'json' }

const date = '2026-12-01'
const note = (scope: string, text: string): ChangeNote => ({ path: `changes/${scope}.md`, scope, text })
const earlier = '# Changelog\n\nAbout it.\n\n## 0.1.0, 2026-11-01\n\n- The first.\n'
const unreleased = earlier.replace('2026-11-01', 'unreleased')

describe('notes that are joined', () => {
  test('stand below their areas, in one order', () => {
    const notes = [note('gateway', 'G.\n'), note('bench', 'B.\n'), note('state', 'S.\n'), note('cluster', 'C.\n')]
    expect(joinNotes(notes)).toBe(
      '### Sealed state and security\n\n- S.\n\n### Several instances\n\n- C.\n\n### Gateway\n\n- G.\n\n### Everything else\n\n- B.',
    )
  })

  test('lose their title, and link from the folder of the changelog', () => {
    const text = '# A title\n\nOne line\nand [a page](../docs/reference/errors.md).\n\nA second paragraph.\n'
    expect(joinNotes([note('cli', text)])).toBe(
      '### Program\n\n- One line\n  and [a page](docs/reference/errors.md).\n\n  A second paragraph.',
    )
  })

  test.each([
    ['fix(state): refuse a seal', 'state'],
    ['feat(tasks,postgres): a store', 'tasks'],
    ['docs: a page', ''],
    ['Merge branch', ''],
  ])('have the scope of their commit: %j has %j', (subject, scope) => expect(scopeOf(subject)).toBe(scope))
})

describe('the changelog of a release', () => {
  test('has the joined notes as its first section', () => {
    const changelog = releasedChangelog(earlier, { version: '0.2.0', date, notes: [note('probe', 'P.')] })
    expect(changelog).toBe(earlier.replace('## 0.1.0', () => `## 0.2.0, ${date}\n\n### Probe\n\n- P.\n\n## 0.1.0`))
    expect(sectionOf(changelog, '0.2.0')).toBe('### Probe\n\n- P.')
    expect(sectionOf(changelog, '0.1.0')).toBe('- The first.')
  })

  test('keeps a section that a person wrote, and dates it', () => {
    const notes = [note('probe', 'P.')]
    expect(releasedChangelog(unreleased, { version: '0.1.0', date, notes })).toBe(
      unreleased.replace('unreleased', date),
    )
  })

  test.each([
    ['of a version that was released', '0.1.0', 1, 'was released on 2026-11-01'],
    ['without notes', '0.2.0', 0, 'no note'],
    ['with more notes than a person reads', '0.2.0', MAX_NOTES + 1, 'Sum them up'],
  ])('%s is refused', (_, version, count, why) => {
    const notes = Array.from({ length: count }, () => note('cli', 'A change.'))
    expect(() => releasedChangelog(earlier, { version, date, notes })).toThrow(why)
  })

  test('says in at most 60 lines what this version has', () => {
    const items = sectionOf(readText('CHANGELOG.md'), manifest.version)?.match(/^- .*(\n  .*)*/gm) ?? []
    expect(items.length).toBeGreaterThan(0)
    expect(items.join('\n').split('\n').length).toBeLessThanOrEqual(MAX_NOTES)
  })
})

test.each([...packages.values()])(
  'the SBOM of $name lists every dependency, and nothing that only development needs',
  (released) => {
    const { metadata, components = [] } = JSON.parse(makeSbom(released)) as {
      metadata: { component: { name: string; version: string } }
      components?: { name: string; hashes?: unknown[] }[]
    }
    const names = components.map(({ name }) => name)
    expect(metadata.component).toMatchObject({ name: released.name, version: manifest.version })
    expect(names).toEqual(expect.arrayContaining(Object.keys(released.dependencies ?? {})))
    expect(names).not.toContain('vitest')
    expect(components.filter(({ hashes = [] }) => hashes.length === 0)).toEqual([])
  },
)

test('the workflow publishes each package that a release packs', () => {
  const workflow = readText('.github/workflows/release.yml')
  const names = [...packages.values()].map(({ name }) => name)
  expect(workflow).toContain(`for name in ${names.join(' ')}; do`)
  expect(workflow).toContain(`for folder in ${[...packages.keys()].join(' ')}; do`)
})
