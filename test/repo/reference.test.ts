import { expect, test } from 'vitest'
import { fillRegions, regionsIn, withoutRegions } from '../../scripts/docs/regions.ts'
import { Entries } from '../../scripts/reference/entries.ts'
import { exportsReference, undocumented } from '../../scripts/reference/exportsPage.ts'
import { Package } from '../../scripts/reference/package.ts'
import { settingsReference } from '../../scripts/reference/settingsTable.ts'

const manifest = {
  exports: {
    './door': { 'pannier-source': './src/door/index.ts' },
    './key': { 'pannier-source': './src/key/index.ts' },
    './package.json': './package.json',
  },
}

const sources = {
  'src/door/index.ts': `export { makeDoor as door, type DoorOptions } from './door.ts'
export { cut } from '../key/index.ts'
export type { Door } from './door.ts'`,
  'src/door/door.ts': `import type { Lock } from 'locks'
import type { Key, KeyOptions } from '../key/key.ts'
/** What all doors have. */
interface Wall { /** In metres. @default 2 */ height?: number; secret: string }
export interface DoorOptions extends Omit<Wall, 'secret'> {
  /** Opens it,
   *  from both <sides>. */
  key: Key
  /** A lock of others. */
  lock?: Lock
  colour?: Colour
}
type Colour = 'red' | 'blue'
/** A door. */
export class Door { #open = false; private hidden = 1; /** Whether it is open. */ get isOpen(): boolean { return this.#open } }
/** Makes a door. */
export function makeDoor({ key }: DoorOptions, ...more: readonly KeyOptions[]): Door { return new Door() }`,
  'src/key/index.ts': `export { cut, type Key, type KeyOptions } from './key.ts'`,
  'src/key/key.ts': `/** A key. */
export interface Key { readonly teeth: number }
export interface KeyOptions {}
export function cut(teeth: number): Key
export function cut(like: Key): Key
export function cut(from: unknown): Key { return { teeth: Number(from) } }`,
}

const entriesOf = (texts: Record<string, string>) => new Entries(new Package(manifest, new Map(Object.entries(texts))))
const entries = entriesOf(sources)
const [door, key] = entries.package.subpaths.map((subpath) => exportsReference(subpath, entries))

test('a function has its public name, its types as they are written, and links to them', () => {
  expect(door).toContain('### door()\n\n```ts\ndoor(options: DoorOptions, ...more: readonly KeyOptions[]): Door\n```')
  expect(door).toContain(
    'Makes a door.\n\nSee [`DoorOptions`](#dooroptions), [`KeyOptions`](pannier-key.md#keyoptions)',
  )
})

test('every signature of an overloaded function is shown, and not that of its implementation', () => {
  expect(key).toContain('```ts\ncut(teeth: number): Key\ncut(like: Key): Key\n```')
  expect(key).not.toContain('unknown')
})

test('a table of options has the inherited ones, the required ones first, with type, default and sentence', () => {
  expect(door).toContain('Options of [`door`](#door).')
  expect(door).toContain(
    [
      '| name | what it is | default | type |',
      '|---|---|---|---|',
      '| `key` | Opens it, from both &lt;sides>. | required | [`Key`](pannier-key.md#key) |',
      '| `lock` | A lock of others. | none | `Lock` |',
      '| `colour` |  | none | [`Colour`](#colour) |',
      '| `height` | In metres. | `2` | `number` |',
    ].join('\n'),
  )
  expect(door).not.toContain('secret')
})

test('a type without an export is on the page that mentions it, and one of another subpath is not', () => {
  expect(door).toContain(
    "### Colour\n\n```ts\ntype Colour = 'red' | 'blue'\n```\n\nThis type has no export of its own.",
  )
  expect(door).not.toContain('### Key')
  expect(door).toContain('## Also exported\n\n[`cut`](pannier-key.md#cut).')
})

test('a class shows its public members, and a type with the name of a function says that it is one', () => {
  expect(door).toContain('### Door (class)')
  expect(door).toContain('| `isOpen` | Whether it is open. | `boolean` |')
  expect(door).not.toContain('hidden')
})

test('functions and options without a sentence are reported', () => {
  expect(undocumented(entries)).toEqual([
    'src/door/door.ts: write a comment of one sentence for DoorOptions.colour',
    'src/key/key.ts: write a comment of one sentence for cut',
  ])
})

test('settings need a sentence and a default, and show texts as JSON has them', () => {
  const settings = (text: string) =>
    settingsReference('Settings', entriesOf({ ...sources, 'src/door/s.ts': text }), 'a.md')
  expect(settings("interface Settings { /** How. @default 'a' */ readonly mode: 'a' | 'b' }")).toContain(
    '| `mode` | How. | `"a"` | `"a" \\| "b"` |',
  )
  expect(() => settings('interface Settings { /** How. */ mode: string }')).toThrow('mode needs a sentence')
})

test('a region of a page is filled, and what is around it stays', () => {
  const page = 'Before\n\n<!-- generated: a b -->\n\nold\n\n<!-- /generated -->\n\nafter\n'
  expect(regionsIn(page)).toEqual(['a b'])
  expect(fillRegions(page, (what) => `new ${what}`)).toBe(page.replace('old', 'new a b'))
  expect(withoutRegions(page)).not.toContain('old')
  expect(withoutRegions(page).split('\n')).toHaveLength(page.split('\n').length)
})
