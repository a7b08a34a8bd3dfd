import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { placeName, placeOf, targetOf } from './place.ts'
import type { SavedPlace } from './savedCall.ts'
import type { Target } from './target.ts'

test.each<[string, Target, SavedPlace, Target]>([
  ['a URL', 'https://a.example/mcp?k=1', { target: 'https://a.example/mcp?k=1' }, 'https://a.example/mcp?k=1'],
  ['an entry of a file', 'a.json#b', { target: `${resolve('a.json')}#b` }, `${resolve('a.json')}#b`],
  [
    'a command',
    ['node', 'server.js'],
    { target: ['node', 'server.js'], cwd: process.cwd() },
    { command: 'node', args: ['server.js'], cwd: process.cwd() },
  ],
  [
    'a command in a folder, with an environment',
    { command: 'node', args: ['server.js'], cwd: 'sub', env: { KEY: 'secret' } },
    { target: ['node', 'server.js'], cwd: resolve('sub') },
    { command: 'node', args: ['server.js'], cwd: resolve('sub') },
  ],
])('%s is found again from any folder', (_, target, place, again) => {
  expect(placeOf(target)).toEqual(place)
  expect(targetOf(place)).toEqual(again)
})

test('a place without a target is one that only the host knows', () => {
  expect(() => targetOf({ target: null })).toThrow(expect.objectContaining({ code: 'SAVED_INVALID' }))
})

test.each<[SavedPlace, string | undefined]>([
  [{ target: 'https://a.example/mcp?key=secret' }, 'https://a.example/mcp'],
  [{ target: ['node', 'server.js', '--key', 'secret'] }, 'node server.js'],
  [{ target: 'row 7 of ours' }, undefined],
  [{ target: null }, undefined],
])('%j is told to people as %s', (place, name) => {
  expect(placeName(place)).toBe(name)
})
