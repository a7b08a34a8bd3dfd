/** What the probe says of recorded servers, and that its weights are those that the recordings give. */
import { expect, test } from 'vitest'
import { readText } from '../../scripts/repository.ts'
import { calibrationRows, measure } from '../../probe-corpus/measure.ts'
import { readRecordings } from '../../probe-corpus/recordings.ts'
import { fitted } from '../../probe-corpus/toolModel.ts'
import { INTERCEPT, TOOLS_ACCURACY, WEIGHTS } from '../../src/probe/methods/toolWeights.ts'

test('the weights are those that the recordings give', () => {
  const { intercept, weights } = fitted()
  expect({ intercept, weights }).toEqual({ intercept: INTERCEPT, weights: WEIGHTS })
})

test('each recorded server has a version, a truth and a reason, and is there once', () => {
  const recordings = readRecordings()
  expect(new Set(recordings.map(({ name }) => name)).size).toBe(recordings.length)
  for (const { name, version, truth, because } of recordings) {
    expect(`${version} ${truth} ${because}`, name).toMatch(/^\d+\.\d+\.\S+ STATE(LESS|FUL) \S.+\.$/)
  }
})

test('by its tools alone nine of ten servers are judged rightly, and none wrongly with a confidence above 90 %', () => {
  const { servers, right, byConfidence } = measure('fit')
  expect(right / servers).toBeGreaterThanOrEqual(TOOLS_ACCURACY)
  for (const { confidence, servers: alike, right: those } of byConfidence) {
    expect(confidence > 0.9 ? those : alike).toBe(alike)
  }
})

test('the page has the calibration that the recordings give, also for servers that were kept aside', () => {
  const page = readText('docs/probe-accuracy.md')
  for (const row of calibrationRows()) expect(page).toContain(`| ${row.join(' | ')} |`)
  const { servers, right } = measure('aside')
  expect(page).toContain(`**${right} of ${servers} (`)
})
