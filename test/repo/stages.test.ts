import { describe, expect, test } from 'vitest'
import { hasLongForm, listFiles, readText } from '../../scripts/repository.ts'
import { stages } from '../../scripts/stages/stages.ts'
import { lastLines, retriedLines, slowestLines, stageLines } from '../../scripts/stages/summary.ts'
import { judge, type Report, shorten } from '../../scripts/stages/verdict.ts'

const error = (message: string) => ({ message, diff: '- 1\n+ 2', frames: ['at f test/a.test.ts:1:2'] })
const place = (name: string, file = 'test/a.test.ts') => ({ file, name })

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

  test('an error outside of all tests is a failure', () => {
    const [failure] = judge(report({ states: ['passed'], unhandled: [error('forgotten')] })).failures
    expect(failure?.detail.split('\n')[0]).toBe('forgotten')
  })

  test('a long text is shown with its beginning and its end', () => {
    expect(shorten('1\n2\n3\n4\n5\n6\n', 4)).toBe('1\n2\n… 2 more lines …\n5\n6')
  })
})

describe('what a run prints', () => {
  const stage = { name: 'e2e', run: () => Promise.reject(new Error('runs no more')) }

  test('the last lines name what failed, with the reason, and then count', () => {
    const failed = [{ stage, failure: { name: 'test 0', detail: 'why' } }]
    expect(lastLines(10, failed)).toEqual(['', 'Failed:', '  × e2e: test 0\n      why', '', '10 passed, 1 failed'])
  })

  test('a good run ends with its counts alone', () => {
    expect(lastLines(10, [])).toEqual(['', '10 passed, 0 failed'])
  })

  test('a stage is one line with each failure below it', () => {
    const outcome = { passed: 3, failures: [{ name: 'a test', detail: 'no\nat b' }] }
    expect(stageLines(stage, outcome, 1500).join('\n')).toBe(
      'FAIL  e2e             1.5 s   3 passed, 1 failed\n      × a test\n        no\n        at b',
    )
  })

  test('the slowest tests are named with their files', () => {
    const tests = [place('slow'), place('quick')].map((each, n) => ({ ...each, ms: 2000 - 1000 * n, errors: [] }))
    expect(slowestLines(tests).slice(1)).toEqual([
      'The slowest of 2 tests:',
      '   2.0 s  test/a.test.ts > slow',
      '   1.0 s  test/a.test.ts > quick',
    ])
  })

  test('a test that passed only at its second try is named with its first error', () => {
    const steady = { ...place('steady'), ms: 1, errors: [] }
    const unsteady = { ...place('unsteady'), ms: 1, isRetried: true, errors: [error('late'), error('later')] }
    expect(retriedLines([steady, unsteady])).toEqual([
      '',
      'Passed only at the second try:',
      '  × test/a.test.ts > unsteady\n      late',
    ])
    expect(retriedLines([steady])).toEqual([])
  })
})

test('`npm run test:long` has each test that npm test shortens or leaves out, and CONTRIBUTING.md lists each', () => {
  const listed = [...readText('CONTRIBUTING.md').matchAll(/^\|[^|]*`((?:src|test)\/[^`]*\.test\.ts)`/gm)].map(
    ([, path = '']) => path,
  )
  expect(listed.toSorted()).toEqual(listFiles().filter(hasLongForm))
  const script = JSON.parse(readText('package.json')).scripts['test:long'] as string
  const onlyNamed = stages.filter((stage) => stage.onlyNamed).map(({ name }) => name)
  expect(
    script
      .split(' ')
      .filter((word) => stages.some(({ name }) => name === word))
      .toSorted(),
  ).toEqual(onlyNamed.toSorted())
  expect(readText('.ci/run')).toMatch(/^npm test\nnpm run test:long$/m)
})
