import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { blockAt, blocksOf, withProbes } from '../../scripts/mutants/blocks.ts'
import { batches, sample, testsFor } from '../../scripts/mutants/choose.ts'
import equivalents from '../../scripts/mutants/equivalents.json' with { type: 'json' }
import { isEquivalent, staleEquivalents } from '../../scripts/mutants/equivalents.ts'
import { type Change, changesOf } from '../../scripts/mutants/operators.ts'
import type { Reach, TestReach } from '../../scripts/mutants/reached.ts'
import { describe as describeResult, summary } from '../../scripts/mutants/report.ts'
import { readIfThere } from '../../scripts/repository.ts'

const change = (more: Partial<Change>): Change => ({
  path: 'src/state/a.ts',
  line: 1,
  operator: 'other constant',
  start: 0,
  end: 1,
  before: '1',
  after: '0',
  ...more,
})

test.each([
  ['if (a) b()', ['negated condition: if (!(a)) b()', 'removed statement: if (a) {}']],
  ['x = a ? b : c', ['removed statement: {}', 'negated condition: x = !(a) ? b : c']],
  ['f(a <= b)', ['removed statement: {}', 'moved border: f(a < b)']],
  ['y = a === b', ['removed statement: {}', 'other equality: y = a !== b']],
  ['const y = a && b', ['other junction: const y = a || b']],
  ['const y = a ?? b', ['always the default: const y = b']],
  ['const y = [0, 12, true]', ['const y = [1, 12, true]', 'const y = [0, 0, true]', 'const y = [0, 12, false]']],
  ['await f()', ['removed statement: {}', 'dropped await: f()']],
  ['const y = { a, ...b }', ['dropped members: const y = { a,  }']],
  ['function f(): void { g() }', ['early return: function f(): void { return; g() }', 'function f(): void { {} }']],
  ['const f = (): boolean => { return a }', ['{ return true; return a }', '{ return false; return a }']],
  ['function f(): number { return a }', []],
  ['type A = 1 | true; let b: 2', []],
  ['class A extends B { constructor() { super() } }', []],
  ['throw new Error(`${n + 1} of them`)', []],
])('%s is changed in these ways', (text, expected) => {
  const changed = changesOf('a.ts', text).map(
    ({ operator, start, end, after }) => `${operator}: ${text.slice(0, start)}${after}${text.slice(end)}`,
  )
  expect(changed).toHaveLength(expected.length)
  for (const [n, part] of expected.entries()) expect(changed[n]).toContain(part)
})

test('a change knows its line', () => {
  expect(changesOf('a.ts', 'a\n\nconst b = true').map(({ line, before }) => [line, before])).toEqual([[3, 'true']])
})

describe('the blocks of a file', () => {
  /** Runs the text with its probes, and gives the text from each place that was reached. */
  function reachedIn(text: string): string[] {
    const reached: string[] = []
    const __reached = (_: string, at: number) => reached.push(text.slice(at).trim().split(' ')[0] ?? '')
    runInNewContext(withProbes('a.ts', text), { __reached })
    return reached
  }

  test.each([
    ['if (true) { one() } else { two() }; function one() { three } function two() {}', ['one()', 'three']],
    ['const f = () => one; const one = 1; f()', ['one;']],
    ['const one = 1, two = 2; const x = false ? one : two;', ['two;']],
    ['const one = 1, two = 2; const x = one && two || three;', ['two']],
    ['const one = 1, two = 2; if (!one) throw two; else if (two) one;', ['one;']],
    ['switch (2) { case 1: one; break; case 2: 22 ; break }', ['22']],
    ['for (const x of [1, 2]) { x }', ['x', 'x']],
  ])('tell when they are reached: %s', (text, expected) => {
    expect(reachedIn(text.replaceAll('three }', '3 }'))).toEqual(
      expected.map((word) => (word === 'three' ? '3' : word)),
    )
  })

  test('hold a place in the smallest, or in none', () => {
    const text = 'const a = 1; function f() { if (b) { c() } }'
    const at = (word: string) => blockAt(blocksOf('a.ts', text), text.indexOf(word))
    expect(at('c()')).toEqual({ start: text.indexOf(' c()'), end: text.indexOf('c()') + 5 })
    expect(at('if')?.start).toBe(text.indexOf(' if'))
    expect(at('1')).toBeUndefined()
  })
})

describe('a sample', () => {
  const changes = [
    ...Array.from({ length: 40 }, (_, n) => change({ start: n })),
    ...Array.from({ length: 3 }, (_, n) => change({ path: 'src/tasks/b.ts', start: n, operator: 'moved border' })),
  ]

  test('is the same for the same seed, and another one for another', () => {
    const of = (seed: number) => [...sample(changes, seed)].slice(0, 10)
    expect(of(7)).toEqual(of(7))
    expect(of(7)).not.toEqual(of(8))
  })

  test('takes from each folder in turn, and each change once', () => {
    const all = [...sample(changes, 1)]
    expect(all.slice(0, 6).filter(({ path }) => path === 'src/tasks/b.ts')).toHaveLength(3)
    expect(new Set(all).size).toBe(changes.length)
  })
})

describe('the tests of a change', () => {
  const reached = (blocks: number[], more: Partial<TestReach> = {}): TestReach => ({
    hash: 't',
    ms: 10,
    passed: true,
    files: { 'src/state/a.ts': { hash: 'now', blocks } },
    ...more,
  })
  const reach: Reach = {
    'test/slow.test.ts': reached([5], { ms: 900 }),
    'test/quick.test.ts': reached([5]),
    'test/elsewhere.test.ts': reached([50]),
    'test/none.test.ts': reached([], { files: {} }),
    'src/state/a.some.test.ts': reached([5, 50], { ms: 500 }),
  }
  const source = { hash: 'now', blocks: [{ start: 5, end: 40 }] }

  test.each<[string, Partial<Change>, { hash: string }, string[]]>([
    ['in a block', { start: 7 }, source, ['src/state/a.some.test.ts', 'test/quick.test.ts', 'test/slow.test.ts']],
    [
      'when a file is loaded',
      { start: 1 },
      source,
      ['src/state/a.some.test.ts', 'test/quick.test.ts', 'test/elsewhere.test.ts', 'test/slow.test.ts'],
    ],
    [
      'in a file that was another when it was measured',
      { start: 7 },
      { hash: 'later' },
      ['src/state/a.some.test.ts', 'test/quick.test.ts', 'test/elsewhere.test.ts', 'test/slow.test.ts'],
    ],
  ])('%s are those that reach it, the nearest and quickest first', (_, where, { hash }, expected) => {
    expect(testsFor(change(where), { ...source, hash }, reach)).toEqual(expected)
  })

  test('run in batches that grow, within a time', () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${n}`, reached([], { ms: 1000 })]))
    const names = Object.keys(many)
    const sizes = (seconds: number) => batches(names, many, seconds).runs.map((run) => run.length)
    expect(sizes(100)).toEqual([3, 12, 5])
    expect(sizes(8)).toEqual([3, 5])
    expect(batches(names, many, 8).leftOut).toBe(12)
    expect(sizes(0.5)).toEqual([1])
    expect(batches(['src/a.test.ts', 'test/b.test.ts'], many, 9).runs).toEqual([['src/a.test.ts'], ['test/b.test.ts']])
  })
})

describe('equivalents', () => {
  const text = '  const a = 1\n'
  const [found] = changesOf('src/state/a.ts', text)
  const entry = { path: 'src/state/a.ts', line: 'const a = 1', before: '1', after: '0', reason: 'Nobody reads it.' }
  const sources = () => ({ text, changes: [found!] })

  test('are found by their line and their change', () => {
    expect(isEquivalent(found!, text, [entry])).toBe(true)
    expect(isEquivalent(found!, text, [{ ...entry, after: '2' }])).toBe(false)
    expect(isEquivalent(found!, text, [{ ...entry, line: 'const b = 1' }])).toBe(false)
    expect(staleEquivalents([entry], sources)).toEqual([])
  })

  test.each([
    ['whose line has changed', { ...entry, line: 'const b = 1' }],
    ['without a reason', { ...entry, reason: ' ' }],
  ])('%s are errors', (_, wrong) => {
    expect(staleEquivalents([wrong], sources)).toHaveLength(1)
  })

  test('that are listed are changes of the sources', () => {
    const changes = (path: string) => {
      const source = readIfThere(path)
      return source === undefined ? undefined : { text: source, changes: changesOf(path, source) }
    }
    expect(staleEquivalents(equivalents, changes)).toEqual([])
  })
})

test('the summary counts by folder, without equivalents and what does not compile', () => {
  const results = [
    { change: change({}), outcome: 'noticed' as const, by: 'a test' },
    { change: change({}), outcome: 'survived' as const },
    { change: change({}), outcome: 'equivalent' as const },
    { change: change({ path: 'src/tasks/b.ts' }), outcome: 'does not compile' as const },
  ]
  expect(summary(results).split('\n')).toEqual([
    expect.stringMatching(/^src\/state +1 of +2 noticed +50 % +1 equivalent, 0 do not compile$/),
    expect.stringMatching(/^src\/tasks +0 of +0 noticed +0 equivalent, 1 do not compile$/),
    expect.stringMatching(/^all +1 of +2 noticed/),
  ])
})

test('a survivor is shown with its place, before and after', () => {
  const survivor = { change: change({ line: 12, before: 'a(\n)', after: '' }), outcome: 'survived' as const }
  expect(describeResult(survivor)).toBe(
    'SURVIVED   src/state/a.ts:12  other constant; no test reaches it\n    - a(\n    - )\n    + (nothing)',
  )
})
