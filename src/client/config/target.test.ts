import { describe, expect, test } from 'vitest'
import { nameOf, readTarget, storable, type Target } from './target.ts'

describe('a target is read as what it is', () => {
  test.each<[string, Target, unknown]>([
    ['a URL', 'https://Example.com/mcp', { url: 'https://example.com/mcp' }],
    ['a URL with a query', 'http://localhost:3000/mcp?a=1', { url: 'http://localhost:3000/mcp?a=1' }],
    ['a URL object', new URL('http://localhost/'), { url: 'http://localhost/' }],
    ['a file and a name', 'mcp.json#files', { file: 'mcp.json', entry: 'files' }],
    ['a file with # in its path', './a#b/mcp.json#files', { file: './a#b/mcp.json', entry: 'files' }],
    ['a name with # in it', './mcp.json#c# files', { file: './mcp.json', entry: 'c# files' }],
    ['a file of another kind', 'a#b#files', { file: 'a#b', entry: 'files' }],
    ['a command', ['node', 'server.js'], { command: 'node', args: ['server.js'] }],
    ['a command alone', ['server'], { command: 'server', args: [] }],
    ['an address over HTTP', { url: 'http://a/', headers: { x: '1' } }, { url: 'http://a/', headers: { x: '1' } }],
    ['an address with a folder', { command: 'a', args: [], cwd: '/b' }, { command: 'a', args: [], cwd: '/b' }],
  ])('%s', (_, target, reading) => {
    expect(readTarget(target)).toEqual(reading)
  })
})

describe('what cannot be a target is refused with a sentence', () => {
  test.each<[string, unknown, RegExp]>([
    ['an empty string', '', /A target is a URL/],
    ['a word', 'server', /-- command/],
    ['a host', 'localhost:3000/mcp', /Write the whole address: http:\/\/localhost:3000\/mcp/],
    ['a domain', 'mcp.example.com', /Write the whole address: http:\/\/mcp.example.com/],
    ['a file without a name', 'a/mcp.json', /Name the server of the file: a\/mcp.json#name/],
    ['a name without a file', '#files', /needs both/],
    ['a file and an empty name', 'mcp.json#', /needs both/],
    ['another protocol', 'ftp://example.com', /ftp: is not a protocol/],
    ['a broken URL', 'http://', /not a valid http/],
    ['a URL with a fragment', 'https://example.com/mcp.json#files', /has a fragment/],
    ['a URL with a password', 'https://ann:secret@example.com/', /holds a user name or password/],
    ['an empty list', [], /name of a program/],
    ['a list with an empty name', [''], /name of a program/],
    ['a command with a number', { command: 'a', args: [1] }, /all of them strings/],
    ['nothing', null, /A target is a URL/],
    ['an empty object', {}, /A target is a URL/],
  ])('%s', (_, target, sentence) => {
    expect(() => readTarget(target as Target)).toThrow(
      expect.objectContaining({ code: 'TARGET_INVALID', message: expect.stringMatching(sentence) }),
    )
    expect(() => readTarget(target as Target)).not.toThrow(/secret/)
  })
})

test.each<[Target, string]>([
  ['https://example.com/mcp?key=secret', 'https://example.com/mcp'],
  ['https://example.com/s/c2VjcmV0IHNlY3JldCBzZWNyZXQ/mcp', 'https://example.com/s/…/mcp'],
  [['node', '--conditions=x', 'server.ts'], 'node server.ts'],
  [['server', '--token', 'secret'], 'server'],
  [['npx', '-y', '@scope/server', '--key', 'secret'], 'npx @scope/server'],
  [['env', 'KEY=secret', 'node'], 'env node'],
  [['server', '--key=secret'], 'server'],
  ['mcp.json#files', 'mcp.json#files'],
  [['server', 'postgres://user:password@host/db'], 'server'],
])('%j is shown to people as %s', (target, name) => {
  expect(nameOf(target)).toBe(name)
})

test('a target can be stored without its headers and environment', () => {
  expect(storable({ url: 'https://example.com/', headers: { authorization: 'secret' } })).toBe('https://example.com/')
  expect(storable({ command: 'a', args: ['b'], env: { KEY: 'secret' } })).toEqual(['a', 'b'])
  expect(storable('mcp.json#files')).toBe(`${process.cwd()}/mcp.json#files`)
})
