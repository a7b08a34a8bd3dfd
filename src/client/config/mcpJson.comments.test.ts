import { expect, test } from 'vitest'
import { parseCommentedJson, parseCommentedTree } from './mcpJson.ts'
import { ClientError } from '../errors.ts'

test('comments, a byte order mark and a comma at the end are no fault', () => {
  expect(parseCommentedJson('\ufeff{ // one\n "a": [1, /* two */ 2,], }', 'a.json')).toEqual({ a: [1, 2] })
})

test.each([
  ['hunter2', 1, 'there is an unknown word; text must be in double quotes'],
  ['{\n "a": 1\n "b": 2 }', 3, 'a comma is missing'],
  ['{\n "a" 1 }', 2, 'a colon is expected there'],
  ['\ufeff{\nb', 2, 'there is an unknown word; text must be in double quotes'],
  ['{ "a": }', 1, 'a value is expected there'],
  ['{ 7: 1 }', 1, 'a name in double quotes is expected there'],
  ['{ "a": 1', 1, 'a closing brace } is expected there'],
  ['[1', 1, 'a closing bracket ] is expected there'],
  ['{}\n{}', 2, 'the end of the file is expected there'],
  ['["hunter2\n]', 1, 'a closing double quote is missing'],
  ['{} /* hunter2', 1, 'the end of a comment */ is missing'],
  ['["\\u12"]', 1, 'four hexadecimal digits are expected after \\u'],
  [
    '["C:\\hunter2"]',
    1,
    'there is a backslash before a character that cannot be escaped; write \\\\ for one backslash',
  ],
  ['["\t"]', 1, 'a control character, such as a tab, must be written as an escape'],
  ['[1.]', 1, 'a digit is expected there'],
])('%j is refused at line %i: %s', (text, line, what) => {
  const sentence = `a.json is not valid JSON at line ${line}: ${what}.`
  expect(() => parseCommentedJson(text, 'a.json')).toThrow(new ClientError('CONFIG_UNREADABLE', sentence))
})

test('a tree knows the line of each of its parts, also after a byte order mark', () => {
  const { root, lineAt } = parseCommentedTree('\ufeff{\n  // one\n  "a": 1,\n}', 'a.json')
  expect(lineAt(root?.children?.[0]?.offset ?? 0)).toBe(3)
  expect(parseCommentedTree('7', 'a.json').root).toMatchObject({ type: 'number', value: 7 })
  expect(() => parseCommentedTree('{\n"a" 1}', 'a.json')).toThrow('at line 2: a colon is expected there')
})

test.each(['', ' \n', '\ufeff'])('a file with nothing in it (%j) is said to be empty', (text) => {
  expect(() => parseCommentedJson(text, 'a.json')).toThrow('a.json is empty; it needs servers under "mcpServers".')
})
