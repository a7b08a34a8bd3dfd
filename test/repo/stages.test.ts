import { expect, test } from 'vitest'
import { countTests } from '../../scripts/stages/vitest.ts'

const report = (...statuses: string[]) => ({
  testResults: [
    {
      name: 'a.test.ts',
      status: 'passed',
      assertionResults: statuses.map((status) => ({ fullName: `is ${status}`, status })),
    },
  ],
})

test.each([
  [['passed', 'passed'], 0, 2, 0],
  [['passed', 'failed'], 1, 1, 1],
  [['passed', 'skipped', 'todo', 'pending'], 0, 1, 3],
  [['passed'], 1, 1, 1],
  [[], 1, 0, 1],
])('tests %j with exit code %i count as %i passed and %i failed', (statuses, exitCode, passed, failed) => {
  expect(countTests(report(...statuses), exitCode, '')).toMatchObject({ passed, failed })
})

test('the time of each test is told', () => {
  const [file] = report('passed', 'failed').testResults
  const assertionResults = file!.assertionResults.map((result, n) => ({ ...result, duration: n === 0 ? 12.5 : null }))
  expect(countTests({ testResults: [{ ...file!, assertionResults }] }, 1, '').tests).toEqual([
    { name: 'is passed', ms: 12.5 },
    { name: 'is failed', ms: 0 },
  ])
})

test('a file that cannot be loaded counts as one failed test', () => {
  const broken = { testResults: [{ name: 'a.test.ts', status: 'failed', assertionResults: [] }] }
  expect(countTests(broken, 1, '')).toMatchObject({ passed: 0, failed: 1 })
})
