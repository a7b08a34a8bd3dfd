import { expect, test } from 'vitest'
import { createKeyring, newKey, rotationSteps } from './keyring.ts'
import { createMarks, MARK_CHARS } from './marks.ts'

const keys = newKey()

test('a mark is the same each time, and of its own text and purpose alone', () => {
  const marks = createMarks(createKeyring(keys), 'task')
  const mark = marks.of('text')
  expect(mark).toMatch(new RegExp(`^[\\w-]{${MARK_CHARS}}$`))
  expect(createMarks(createKeyring(keys), 'task').of('text')).toBe(mark)
  expect(marks.isOf('text', mark)).toBe(true)
  expect(marks.isOf('other', mark)).toBe(false)
  expect(createMarks(createKeyring(keys), 'other').isOf('text', mark)).toBe(false)
  expect(createMarks(createKeyring(newKey()), 'task').isOf('text', mark)).toBe(false)
})

test.each(['', 'AAAA', 'A'.repeat(22), 'ä'.repeat(22), 'A'.repeat(23)])('%j is no mark', (mark) => {
  expect(createMarks(createKeyring(keys), 'task').isOf('text', mark)).toBe(false)
})

test('a mark has one form', () => {
  const marks = createMarks(createKeyring(keys), 'task')
  const mark = marks.of('text')
  const last = mark.at(-1) ?? ''
  // The last character of 22 has four bits that count for nothing.
  const other = String.fromCharCode(last.charCodeAt(0) + 1)
  expect(marks.isOf('text', mark.slice(0, -1) + other)).toBe(false)
})

test('after a rotation the marks of the old key still count, until it is retired', () => {
  const { promote, retire } = rotationSteps(keys)
  const mark = createMarks(createKeyring(keys), 'task').of('text')
  expect(createMarks(createKeyring(promote), 'task').isOf('text', mark)).toBe(true)
  expect(createMarks(createKeyring(promote), 'task').of('text')).not.toBe(mark)
  expect(createMarks(createKeyring(retire), 'task').isOf('text', mark)).toBe(false)
})

test('what is hidden is read with the same keys alone, also after a rotation', () => {
  const marks = createMarks(createKeyring(keys), 'task')
  const mark = marks.of('for http://10.0.0.7/mcp')
  const hidden = marks.hidden('http://10.0.0.7/mcp', mark)
  expect(hidden).toMatch(/^[\w-]+$/)
  expect(Buffer.from(hidden, 'base64url').toString()).not.toContain('10.0.0.7')
  expect(marks.hidden('http://10.0.0.7/mcp', mark)).toBe(hidden)
  expect(marks.hidden('http://10.0.0.7/mcp', marks.of('another text'))).not.toBe(hidden)
  expect(marks.revealed(hidden, mark)).toEqual(['http://10.0.0.7/mcp'])
  const { promote } = rotationSteps(keys)
  expect(createMarks(createKeyring(promote), 'task').revealed(hidden, mark)).toContain('http://10.0.0.7/mcp')
  expect(createMarks(createKeyring(newKey()), 'task').revealed(hidden, mark)).not.toContain('http://10.0.0.7/mcp')
})
