import { describe, expect, test } from 'vitest'
import { terminalLine } from './lineLogger.ts'
import { errorDetails } from '../logger.ts'

const plain = (_: unknown, text: string): string => text
const at = new Date(2026, 0, 2, 3, 4, 5).getTime()
const line = (entry: object): string =>
  terminalLine(`${JSON.stringify({ level: 30, time: at, pid: 1, hostname: 'h', name: 'pannier', ...entry })}\n`, plain)

describe('a log line at a terminal', () => {
  test('has the time, the level, the sentence and its members', () => {
    expect(line({ url: 'http://127.0.0.1:3000/mcp', servers: 2, msg: 'Listening.' })).toBe(
      '03:04:05 INFO  Listening. url=http://127.0.0.1:3000/mcp servers=2\n',
    )
    expect(line({ level: 40, ids: ['a', 'b'], msg: 'Look.' })).toBe('03:04:05 WARN  Look. ids=["a","b"]\n')
  })

  test('has the first four members, each cut after 400 characters', () => {
    expect(line({ a: 1, b: 2, c: 3, d: 4, e: 5, msg: 'Many.' })).toBe('03:04:05 INFO  Many. a=1 b=2 c=3 d=4\n')
    expect(line({ a: 'x'.repeat(500), msg: 'Long.' })).toBe(`03:04:05 INFO  Long. a=${'x'.repeat(400)}…\n`)
  })

  test('has a list of texts that is too long for it below it, whole', () => {
    const printed = [
      'Starting the server.',
      `Connecting to ${'x'.repeat(120)}.`,
      'Error: \u001b[31mrefused\n03:04:06 INFO',
    ]
    expect(line({ server: 'crm', printed, code: 1, msg: 'It has ended.' })).toBe(
      [
        '03:04:05 INFO  It has ended. server=crm code=1',
        '    printed:',
        '      Starting the server.',
        `      Connecting to ${'x'.repeat(120)}.`,
        '      Error: \\u001b[31mrefused\\n03:04:06 INFO',
        '',
      ].join('\n'),
    )
  })

  test('has the stack of an error below it, and that of its cause', () => {
    const error = new TypeError('No number.', { cause: 'the disk is full' })
    error.stack = 'TypeError: No number.\n    at run (a.ts:1:1)'
    expect(line({ level: 50, err: errorDetails(error), msg: 'Failed.' })).toBe(
      [
        '03:04:05 ERROR Failed.',
        '    TypeError: No number.',
        '        at run (a.ts:1:1)',
        '    because of',
        '    string: the disk is full',
        '',
      ].join('\n'),
    )
  })

  test('shows control characters and line breaks of others as text', () => {
    expect(line({ tool: 'a\u001b[2Jb\n03:04:06 INFO  Forged.', msg: 'One\ntwo.' })).toBe(
      '03:04:05 INFO  One\\ntwo. tool="a\\u001b[2Jb\\n03:04:06 INFO  Forged."\n',
    )
    expect(line({ err: { type: 'Error', message: 'a\u001b[2Jb' }, msg: 'x' })).toContain('    Error: a\\u001b[2Jb\n')
  })

  test('stays as it is where it is no JSON, without control characters', () => {
    expect(terminalLine('plain \u001b[2J\n', plain)).toBe('plain \\u001b[2J\n')
  })
})
