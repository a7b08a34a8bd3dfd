import { describe, expect, test } from 'vitest'
import { repeatAlone, type StageFailure } from '../../scripts/stages/repeat.ts'
import type { Stage } from '../../scripts/stages/stages.ts'
import { lastLines, slowestLines, stageLines } from '../../scripts/stages/summary.ts'
import { hasPassed, judge, namePattern, type Report, shorten } from '../../scripts/stages/verdict.ts'

const error = (message: string) => ({ message, diff: '- 1\n+ 2', frames: ['at f test/a.test.ts:1:2'] })
const place = (name: string, file = 'test/a.test.ts') => ({ project: 'e2e', file, name })

function report(more: Partial<Report> & { states?: readonly string[] }): Report {
  const { states = [], ...rest } = more
  const tests = states.map((state) => ({
    ...place(`is ${state}`),
    state,
    ms: 1,
    errors: state === 'failed' ? [error('no')] : [],
  }))
  return { tests, broken: [], unhandled: [], ...rest }
}

describe('what a run of tests amounts to', () => {
  test.each([
    [['passed', 'passed'], 2, []],
    [['passed', 'failed'], 1, ['test/a.test.ts > is failed']],
    [['skipped', 'passed', 'pending'], 1, ['test/a.test.ts > is skipped', 'test/a.test.ts > is pending']],
  ])('tests that are %j count as %i passed, and %j failed', (states, passed, names) => {
    const verdict = judge(report({ states }))
    expect([verdict.passed, verdict.failures.map(({ name }) => name)]).toEqual([passed, names])
  })

  test('a failed test is shown with its assertion, its difference and its stack', () => {
    expect(judge(report({ states: ['failed'] })).failures[0]?.detail).toBe('no\n- 1\n+ 2\n  at f test/a.test.ts:1:2')
  })

  test('a file that cannot be loaded is one failure', () => {
    const { passed, failures } = judge(report({ broken: [{ ...place(''), errors: [error('no such module')] }] }))
    expect([passed, failures.map(({ name }) => name)]).toEqual([0, ['test/a.test.ts']])
  })

  test('tests that did not run because a hook of their group failed are counted with it', () => {
    const skipped = { ...place('a group > a test'), state: 'skipped', ms: 0, errors: [] }
    const broken = [{ ...place('a group'), errors: [error('no server')] }]
    expect(judge(report({ tests: [skipped], broken })).failures.map(({ name }) => name)).toEqual([
      'test/a.test.ts > a group',
    ])
  })

  test('an error outside of all tests is a failure that is not run again', () => {
    const [failure] = judge(report({ states: ['passed'], unhandled: [error('forgotten')] })).failures
    expect([failure?.detail.split('\n')[0], failure?.place]).toEqual(['forgotten', undefined])
  })

  test('a long text is shown with its beginning and its end', () => {
    expect(shorten('1\n2\n3\n4\n5\n6\n', 4)).toBe('1\n2\n… 2 more lines …\n5\n6')
  })
})

describe('a test that runs again', () => {
  test.each([
    ['a (b) costs $1 > c', 'a (b) costs $1 c'],
    ['a (b) costs $1 > c', 'a (b) costs $1 > c'],
    ['group', 'group test'],
  ])('is selected by its name: %s selects %s', (name, full) => {
    expect(full).toMatch(new RegExp(namePattern(name)))
  })

  test('is selected without those whose name has it in the middle', () => {
    expect('not a test').not.toMatch(new RegExp(namePattern('a test')))
    expect('a tested').not.toMatch(new RegExp(namePattern('a test')))
  })

  test.each([
    ['it passes while the others of its file do not run', report({ states: ['passed', 'skipped'] }), true],
    ['it fails', report({ tests: [{ ...place('is passed'), state: 'failed', ms: 1, errors: [] }] }), false],
    ['it is not there', report({ states: ['skipped'] }), false],
    ['there is an error outside of it', report({ states: ['passed'], unhandled: [error('no')] }), false],
    ['a hook fails', report({ states: ['passed'], broken: [{ ...place(''), errors: [] }] }), false],
  ])('when %s', (_, repeated, expected) => {
    expect(hasPassed(place('is passed'), repeated)).toBe(expected)
  })
})

describe('failures beside other stages', () => {
  const stage = (passesAlone?: Stage['passesAlone']): Stage => ({
    name: 'e2e',
    run: () => Promise.reject(new Error('runs no more')),
    ...(passesAlone && { passesAlone }),
  })
  const failures = (count: number, of: Stage): StageFailure[] =>
    Array.from({ length: count }, (_, n) => ({ stage: of, failure: { name: `test ${n}`, detail: 'why' } }))

  test('those that pass alone are unsteady, and the others failed', async () => {
    const all = failures(
      5,
      stage(({ name }) => Promise.resolve(name === 'test 3')),
    )
    const { failed, unsteady } = await repeatAlone(all)
    expect(unsteady.map(({ failure }) => failure.name)).toEqual(['test 3'])
    expect(failed).toHaveLength(4)
  })

  test('more than five are not run again', async () => {
    const all = failures(
      6,
      stage(() => Promise.resolve(true)),
    )
    expect(await repeatAlone(all)).toEqual({ failed: all, unsteady: [] })
  })

  test('a stage that cannot be repeated has failed', async () => {
    const all = failures(1, stage())
    expect(await repeatAlone(all)).toEqual({ failed: all, unsteady: [] })
  })

  test('the last lines name what failed and what passed only alone, with the reason, and then count', () => {
    const [failed, unsteady] = [failures(1, stage()), failures(2, stage()).slice(1)]
    expect(lastLines(10, { failed, unsteady }).join('\n')).toMatch(
      /\nPassed only alone.*\n {2}× e2e: test 1\n {6}why\n\nFailed:\n {2}× e2e: test 0\n {6}why\n\n11 passed, 1 failed$/,
    )
  })

  test('a good run ends with its counts alone', () => {
    expect(lastLines(10, { failed: [], unsteady: [] })).toEqual(['', '10 passed, 0 failed'])
  })

  test('a stage is one line with each failure below it', () => {
    const outcome = { passed: 3, failures: [{ name: 'a test', detail: 'no\nat b' }] }
    expect(stageLines(stage(), outcome, 1500).join('\n')).toBe(
      'FAIL  e2e             1.5 s   3 passed, 1 failed\n      × a test\n        no\n        at b',
    )
  })

  test('the slowest tests are named with their files', () => {
    const tests = [place('slow'), place('quick')].map((each, n) => ({ ...each, ms: 2000 - 1000 * n }))
    expect(slowestLines(tests).slice(1)).toEqual([
      'The slowest of 2 tests:',
      '   2.0 s  test/a.test.ts > slow',
      '   1.0 s  test/a.test.ts > quick',
    ])
  })
})
