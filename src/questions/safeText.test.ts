import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isPlainLine, plainLine, plainLines, wholeLines } from './safeText.ts'

// Anything a terminal or a reader could be misled by: controls, direction, what cannot be seen.
const unsafe = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u

describe('a line', () => {
  test.each([
    ['plain text', 'Which colour?', 'Which colour?'],
    ['words of any language', 'Größe? 你好 شكرا', 'Größe? 你好 شكرا'],
    ['an emoji of several parts', '👩‍👩‍👧 ok ❤️', '👩‍👩‍👧 ok ❤️'],
    ['a colour', '\u001b[31mred\u001b[0m', '�[31mred�[0m'],
    ['a title of the window', '\u001b]0;owned\u0007x', '�]0;owned�x'],
    [
      'a link that shows another',
      '\u001b]8;;https://evil.example\u001b\\safe\u001b]8;;\u001b\\',
      '�]8;;https://evil.example�\\safe�]8;;�\\',
    ],
    ['the clipboard', '\u001b]52;c;ZXZpbA==\u0007', '�]52;c;ZXZpbA==�'],
    ['a control of eight bits', '\u009b2Jx', '�2Jx'],
    ['cursor keys and bells', 'a\bb\u0007c\u007f', 'a�b�c�'],
    ['line breaks of all kinds', 'a\r\nb\nc\u2028d\u2029e\u0085f\vg', 'a b c d e f g'],
    ['tabs', 'a\tb', 'a b'],
    ['an override of direction', 'txt.\u202eexe', 'txt.�exe'],
    ['isolates of direction', '\u2066a\u2069', '�a�'],
    ['what cannot be seen', 'a\u200bb\u2060c\u00add\ufeffe', 'a�b�c�d�e'],
    ['letters of the tag block', 'ok\u{e0041}\u{e0042}', 'ok��'],
    ['half a character', 'a\ud800b', 'a�b'],
    ['a pile of marks', `z${'\u0301'.repeat(40)}`, `z${'\u0301'.repeat(4)}�`],
  ])('%s', (_, text, shown) => {
    expect(plainLine(text)).toBe(shown)
    expect(isPlainLine(text)).toBe(text === shown)
  })

  test('has no space around it', () => {
    expect(plainLine('  a  ')).toBe('a')
  })

  test('is cut where it is long, at a whole character', () => {
    expect(plainLine('😀'.repeat(30), 10)).toBe(`${'😀'.repeat(9)}…`)
    expect(plainLine('x'.repeat(5_000_000), 10)).toBe('xxxxxxxxx…')
  })

  test('never holds anything that a terminal obeys, whatever the text', () => {
    const wild = fc.array(
      fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\u001b[2J', '\u202e', '\n', '\u009b', '\u0007')),
    )
    fc.assert(
      fc.property(wild, (parts) => {
        const text = parts.join('')
        const lines = [plainLine(text), ...plainLines(text, { width: 20, maxLines: 5 }), ...wholeLines(text, 20)]
        for (const line of lines) expect(line).not.toMatch(unsafe)
      }),
    )
  })
})

describe('lines', () => {
  test('are broken between words, and long words where the line ends', () => {
    expect(plainLines('one two three', { width: 7, maxLines: 9 })).toEqual(['one two', 'three'])
    expect(plainLines('abcdefgh ij', { width: 4, maxLines: 9 })).toEqual(['abcd', 'efgh', 'ij'])
    expect(plainLines('a\n\nb', { width: 4, maxLines: 9 })).toEqual(['a', '', 'b'])
    expect(plainLines('你好你好', { width: 4, maxLines: 9 })).toEqual(['你好', '你好'])
  })

  test('are cut after a number of lines, and say how long the whole is', () => {
    const long = 'word '.repeat(1_000_000)
    const lines = plainLines(long, { width: 20, maxLines: 3 })
    expect(lines).toHaveLength(4)
    expect(lines[3]).toBe('… (cut; the whole text has 5000000 characters)')
  })

  test('an address is shown whole, however long', () => {
    const address = `https://example.com/${'x'.repeat(500)}?end`
    const lines = wholeLines(address, 40)
    expect(lines.join('')).toBe(address)
    expect(lines.every((line) => line.length <= 40)).toBe(true)
  })
})
