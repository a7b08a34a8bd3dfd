import { describe, expect, test } from 'vitest'
import { readTargetOperands, splitCommand } from './operands.ts'

test('what follows the first -- is the command of the server, options and all', () => {
  expect(splitCommand(['tools', 'URL'])).toEqual({ own: ['tools', 'URL'], command: undefined })
  expect(splitCommand(['call', 'add', '--', 'node', '--arg', '--', 'x'])).toEqual({
    own: ['call', 'add'],
    command: ['node', '--arg', '--', 'x'],
  })
})

describe('operands', () => {
  test('begin with TARGET, unless there is a command', () => {
    expect(readTargetOperands(['URL', 'add'], undefined, ['TOOL'])).toEqual({ target: 'URL', values: ['add'] })
    expect(readTargetOperands(['add'], ['node', 'x'], ['TOOL'])).toEqual({
      target: { command: 'node', args: ['x'], env: process.env },
      values: ['add'],
    })
    expect(readTargetOperands(['URL'], undefined)).toEqual({ target: 'URL', values: [] })
    const page = 'https://a.example/page'
    for (const target of ['servers#a', 'https://a.example/mcp']) {
      expect(readTargetOperands([target, page], undefined, ['URI'])).toEqual({ target, values: [page] })
    }
    expect(readTargetOperands([], ['node'])).toMatchObject({ target: { command: 'node', args: [] }, values: [] })
  })

  test.each<[string[], string[] | undefined, string[], RegExp]>([
    [[], undefined, [], /TARGET is missing/],
    [[], undefined, ['TOOL'], /TARGET is missing/],
    [['URL'], undefined, ['TOOL'], /TOOL is missing/],
    [[], ['node'], ['TOOL'], /TOOL is missing/],
    [['URL', 'add', 'more'], undefined, ['TOOL'], /takes TARGET and TOOL/],
    [['URL', 'add'], ['node'], ['TOOL'], /takes TOOL/],
    [['URL'], ['node'], [], /no operands before --/],
    [[], [], [], /^Give a command after --, such as/],
    [['add', 'http://a.example/mcp'], undefined, ['TOOL'], /^TARGET comes first, a URL or file#name; then TOOL\.$/],
    [['docs://a', 'mcp.json#a'], undefined, ['URI'], /^TARGET comes first/],
  ])('%j with the command %j for %j are refused', (operands, command, names, sentence) => {
    expect(() => readTargetOperands(operands, command, names)).toThrow(sentence)
  })
})
