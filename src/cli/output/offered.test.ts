import { expect, test } from 'vitest'
import { offeredText } from './offered.ts'

const tool = { server: 'files', tool: 'read', change: 'The description changed.', offered: {} }
const textOf = (parts: object): string =>
  offeredText([{ ...tool, was: {}, ...parts }], ({ server, tool: own }) => `${server}_${own}`)

test('the lines of a part that changed are marked, between those that stay', () => {
  const was = { description: 'Reads.\nOne file.\nAs text.', title: 'Read' }
  const news = { description: 'Reads.\nAny file.\nAnd sends it.\nAs text.', annotations: '{}' }
  expect(textOf({ was, news })).toBe(`TOOL        SERVER  WHAT CHANGED
files_read  files   The description changed.

files_read, description:
  Reads.
- One file.
+ Any file.
+ And sends it.
  As text.

files_read, title was removed:
- Read

files_read, annotations is now:
  {}`)
})

test('lines that are only added or removed are marked alone', () => {
  expect(textOf({ was: { description: 'a\na' }, news: { description: 'a\na\na' } })).toContain('\n  a\n  a\n+ a')
  expect(textOf({ was: { description: 'a\nb' }, news: { description: 'a' } })).toContain('\n  a\n- b')
  expect(offeredText([], () => '')).toBe('No tool is withheld.')
})

test('a text of a server draws nothing on the terminal', () => {
  const text = textOf({ news: { description: 'a\u001B[2Jb\r- c' } })
  for (const control of ['\u001B', '\r']) expect(text).not.toContain(control)
})
