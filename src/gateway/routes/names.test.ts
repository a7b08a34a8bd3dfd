import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exposedUri, resolveUri } from './names.ts'

test.each<[string, string, boolean, string]>([
  ['a', 'file:///x', true, 'file:///x'],
  ['a', 'file:///x', false, 'pannier://a/file:///x'],
  ['my server/ü', 'urn:x:y', false, 'pannier://my%20server%2F%C3%BC/urn:x:y'],
  ['a', 'db://{table}/rows{?page}', false, 'pannier://a/db://{table}/rows{?page}'],
  ['a', 'pannier://b/file:///x', true, 'pannier://a/pannier://b/file:///x'],
  ['a', 'ui://app/page.html', true, 'ui://app/page.html'],
  ['my server/ü', 'ui://app/page.html', false, 'ui://pannier/my%20server%2F%C3%BC/app/page.html'],
  ['a', 'ui://pannier/b/app', true, 'ui://pannier/a/pannier/b/app'],
])('of the server "%s" %s, unique: %s, is listed as %s', (server, uri, isUnique, exposed) => {
  expect(exposedUri(server, uri, isUnique)).toBe(exposed)
})

test('an address with a server leads back to it, and one without is its own', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1 })
  fc.assert(
    fc.property(text, text, fc.boolean(), (server, uri, isUnique) => {
      const exposed = exposedUri(server, uri, isUnique)
      expect(resolveUri(exposed) ?? { server, uri: exposed }).toEqual({ server, uri })
    }),
    { numRuns: 200 },
  )
})

test.each(['pannier://a', 'pannier://%ff/x', 'file:///pannier://a/x', ''])('"%s" names no server', (uri) => {
  expect(resolveUri(uri)).toBeUndefined()
})
