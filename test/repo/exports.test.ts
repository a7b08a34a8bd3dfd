import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { readIfThere } from '../../scripts/repository.ts'
import { publicNames } from './exports.ts'
import listed from './exports.json' with { type: 'json' }

test('each subpath exports exactly the names in test/repo/exports.json', () => {
  const message = 'Public names changed. If that is meant, run `npm run exports` and add a note in changes/.'
  expect(publicNames(manifest, readIfThere), message).toEqual(listed)
})

test('the export check tells values from types and sees every name', () => {
  const made = {
    exports: { './state': { 'pannier-source': './src/state/index.ts' }, './package.json': './package.json' },
  }
  const text = "export { seal, type Sealed } from './seal.ts'\nexport interface Binding {}\nexport function open() {}"
  expect(publicNames(made, () => text)).toEqual({
    'pannier/state': { values: ['open', 'seal'], types: ['Binding', 'Sealed'] },
  })
})
