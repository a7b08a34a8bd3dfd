import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { placeName, placeOf, type SavedPlace, targetOf, type UnsavedParts } from './savedPlace.ts'
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

test('what was not saved is given again: an environment to a command, headers to a URL', () => {
  const [env, headers] = [{ KEY: 'secret' }, { authorization: 'secret' }]
  expect(targetOf({ target: ['node', 'server.js'], cwd: '/srv' }, { env })).toEqual({
    command: 'node',
    args: ['server.js'],
    cwd: '/srv',
    env,
  })
  expect(targetOf({ target: ['server'] }, { env })).toEqual({ command: 'server', args: [], env })
  expect(targetOf({ target: 'https://a.example/mcp' }, { headers })).toEqual({ url: 'https://a.example/mcp', headers })
  expect(targetOf({ target: 'a.json#b' }, {})).toBe('a.json#b')
})

test.each<[SavedPlace, UnsavedParts, RegExp]>([
  [{ target: ['server'] }, { headers: { 'x-key': 'secret' } }, /is for a command\.$/],
  [{ target: 'https://a.example/mcp' }, { env: { KEY: 'secret' } }, /is for a URL\.$/],
  [{ target: 'a.json#b' }, { env: { KEY: 'secret' } }, /is for an entry of a file, which has its own\.$/],
])('what %j has no place for is refused, and not shown', (place, unsaved, sentence) => {
  const give = (): unknown => targetOf(place, unsaved)
  expect(give).toThrow(expect.objectContaining({ code: 'TARGET_INVALID', message: expect.stringMatching(sentence) }))
  expect(give).not.toThrow(/secret/)
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
