import { describe, expect, test } from 'vitest'
import { listFiles, readTexts } from '../../scripts/repository.ts'
import { importCircles, importProblems } from './imports.ts'

const sources = readTexts(listFiles().filter((path) => path.startsWith('src/') && /\.tsx?$/.test(path)))

test('imports in src follow the table of the design', () => {
  expect(importProblems(sources)).toEqual([])
})

test('no file in src imports itself through others', () => {
  expect(importCircles(sources)).toEqual([])
})

describe('the import check', () => {
  test.each([
    ['src/protocol/a.ts', "import { x } from '../state/index.ts'", 'protocol may not import state'],
    ['src/state/a.ts', "import { x } from '../protocol/deep.ts'", 'entered through src/protocol/index.ts'],
    ['src/server/a.ts', "import { x } from '../state/seal/token.ts'", 'entered through src/state/index.ts'],
    ['src/server/a.ts', "import { x } from '../state/seal/deep/index.ts'", 'the index.ts of one of its parts'],
    ['src/server/a.ts', "import { x } from '../state/seal/internal.ts'", 'the index.ts of one of its parts'],
    ['src/state/a.ts', "import type { x } from '../journal/index.ts'", 'state may not import journal'],
    ['src/state/a.ts', "export { x } from '../server/index.ts'", 'state may not import server'],
    ['src/state/a.ts', "const x = await import('../server/index.ts')", 'state may not import server'],
    ['src/state/a.ts', "import { x } from 'pannier/server'", 'state may not import server'],
    ['src/postgres/a.ts', "import { x } from '../server/index.ts'", 'only types of server'],
    ['src/server/a.ts', "import { x } from '../../test/proves.ts'", 'src imports only from src'],
    ['src/state/a.ts', "export * from './b.ts'", 'list the names one by one'],
    ['src/tasks/a.ts', "export { x } from '../postgres/index.ts'", 'only src/tasks/index.ts may name postgres'],
    ['src/state/seal/a.ts', "import { x } from '../jar/rules.ts'", 'in state, seal may not import jar'],
    ['src/state/odd/a.ts', "import { x } from '../jar/rules.ts'", 'state/odd is not in the table'],
    ['src/state/utils/a.ts', '', 'has no idea'],
    ['src/misc/a.ts', '', 'not in the table'],
  ])('finds a fault in %s: %s', (path, text, message) => {
    expect(importProblems(new Map([[path, text]])).join('\n')).toContain(message)
  })

  test.each([
    ['src/state/a.ts', "import { x } from '../protocol/index.ts'"],
    ['src/tasks/a.ts', "import { x } from '../state/internal.ts'"],
    ['src/server/calls/a.ts', "import { x } from '../../state/seal/index.ts'"],
    ['src/state/a.ts', "import { x } from './deep/b.ts'"],
    ['src/tasks/index.ts', "export { x } from '../postgres/index.ts'"],
    ['src/state/jar/a.ts', "import { x } from '../stores/sqliteFile.ts'"],
    ['src/state/seal/a.test.ts', "import { x } from '../jar/rules.ts'"],
    ['src/state/a.ts', "import { hash } from 'node:crypto'"],
    ['src/tasks/a.ts', "import type { x } from '../server/index.ts'"],
    ['src/state/a.test.ts', "import { proves } from '../../test/proves.ts'"],
  ])('finds none in %s: %s', (path, text) => {
    expect(importProblems(new Map([[path, text]]))).toEqual([])
  })

  test('names a circle', () => {
    const texts = new Map([
      ['src/state/a.ts', "import './b.ts'"],
      ['src/state/b.ts', "import type { A } from './a.ts'"],
    ])
    expect(importCircles(texts)).toEqual(['state/a.ts -> state/b.ts -> state/a.ts'])
  })
})
