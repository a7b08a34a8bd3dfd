import { expect, test } from 'vitest'
import { listFiles, readTexts } from '../../scripts/repository.ts'
import { layoutProblems } from './layout.ts'

const sources = readTexts(listFiles().filter((path) => path.startsWith('src/') && /\.tsx?$/.test(path)))

test('folders, names of tests, names of types and numbers in src follow the rules of the layout', () => {
  expect(layoutProblems(sources)).toEqual([])
})

const seventeen = Array.from({ length: 17 }, (_, n): [string, string] => [`src/a/f${n}.ts`, ''])

test.each<[string, [string, string][]]>([
  ['17 source files', seventeen],
  ['named after no file', [['src/a/b.test.ts', '']]],
  [
    'one name means one thing',
    [
      ['src/a/b.ts', 'interface Round {}'],
      ['src/c/d.ts', 'export class Round {}'],
    ],
  ],
  ['the name that src/protocol has', [['src/a/b.ts', 'const code = -32602']]],
  ['the name that src/protocol has', [['src/a/b.ts', 'const most = 2 ** 31 - 1']]],
])('the layout check finds: %s', (message, files) => {
  expect(layoutProblems(new Map(files)).join('\n')).toContain(message)
})

test.each<[string, [string, string][]]>([
  ['16 source files and their tests', [...seventeen.slice(1), ['src/a/f1.test.ts', '']]],
  [
    'a test of one aspect',
    [
      ['src/a/b.ts', ''],
      ['src/a/b.kills.test.ts', ''],
    ],
  ],
  ['a number in a comment', [['src/a/b.ts', '// answers -32602\nconst a = 1 // not -32603']]],
  ['a number in src/protocol', [['src/protocol/b.ts', 'const code = -32602']]],
  [
    'a type of a test',
    [
      ['src/a/b.ts', 'interface Round {}'],
      ['src/a/b.test.ts', 'interface Round {}'],
    ],
  ],
])('the layout check allows: %s', (_, files) => {
  expect(layoutProblems(new Map(files))).toEqual([])
})
