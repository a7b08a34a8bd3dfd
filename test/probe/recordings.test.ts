/** What the probe says of recorded servers, and that its weights and the page are those that the recordings give. */
import { describe, expect, test } from 'vitest'
import { readText } from '../../scripts/repository.ts'
import { measure, recordingsPage, rightOf } from '../../probe-corpus/measure.ts'
import { readRecordings } from '../../probe-corpus/recordings.ts'
import { fittedProgram } from '../../probe-corpus/programModel.ts'
import { familyOf, fitted } from '../../probe-corpus/toolModel.ts'
import { PROGRAM_INTERCEPT, PROGRAM_WEIGHTS, TOGETHER } from '../../src/probe/methods/program/weights.ts'
import { INTERCEPT, TOOLS_ACCURACY, WEIGHTS } from '../../src/probe/methods/toolWeights.ts'

test('the weights are those that the recordings give', () => {
  const { intercept, weights } = fitted()
  expect({ intercept, weights }).toEqual({ intercept: INTERCEPT, weights: WEIGHTS })
  const program = fittedProgram()
  expect(program).toMatchObject({ intercept: PROGRAM_INTERCEPT, weights: PROGRAM_WEIGHTS })
  expect(program.together).toEqual([TOGETHER.intercept, TOGETHER.tools, TOGETHER.program])
})

test('the page has the tables that the recordings give', () => {
  expect(readText('docs/reference/probe-accuracy.md')).toContain(recordingsPage())
})

describe('the recorded servers', () => {
  const recordings = readRecordings()

  test('have a version, a truth and a reason, and are there once', () => {
    expect(new Set(recordings.map(({ name }) => name)).size).toBe(recordings.length)
    for (const { name, version, truth, because } of recordings) {
      expect(`${version} ${truth} ${because}`, name).toMatch(/^\d+\.\d+\.\S+ STATE(LESS|FUL) \S.+\.$/)
    }
  })

  test('that are kept aside are at least 30, of other families than those that the weights were made from', () => {
    const families = new Set(recordings.filter(({ part }) => part === 'fit').map(({ name }) => familyOf(name)))
    const aside = recordings.filter(({ part }) => part === 'aside')
    expect(aside.length).toBeGreaterThanOrEqual(30)
    expect(aside.filter(({ name }) => families.has(familyOf(name)))).toEqual([])
  })

  test('are judged rightly in nine of ten cases by their tools, and none wrongly with a confidence above 90 %', () => {
    const [fit, validated, ...others] = measure().map(({ judged }) => judged)
    expect(rightOf(fit ?? []) / (fit?.length ?? 0)).toBeGreaterThanOrEqual(0.9)
    expect(rightOf(validated ?? []) / (validated?.length ?? 0)).toBeCloseTo(TOOLS_ACCURACY, 2)
    for (const { name, state, truth, confidence } of [fit, validated, ...others].flatMap((judged) => judged ?? [])) {
      expect(state === truth ? 0 : confidence, name).toBeLessThanOrEqual(0.9)
    }
  })
})

test.each([
  ['@scope/one', '@scope'],
  ['mcp-server-discord', 'discord'],
  ['discord-mcp', 'discord'],
  ['task-master-ai', 'task-master-ai'],
])('%s is of the family %s', (name, family) => {
  expect(familyOf(name)).toBe(family)
})
