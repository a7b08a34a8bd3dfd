import { expect, test } from 'vitest'
import { type EngineOptions, engineSettings, MAX_OPTION } from './engine.ts'

test('an engine without options has the defaults that are documented', () => {
  expect(engineSettings({})).toEqual({
    leaseMs: 15_000,
    keepMs: 604_800_000,
    maxLosses: 20,
    maxEntryBytes: 4_194_304,
    maxTasksPerCaller: 1000,
  })
})

test.each<[keyof EngineOptions, number, number]>([
  ['leaseMs', 100, 86_400_000],
  ['keepMs', 0, MAX_OPTION],
  ['maxLosses', 0, MAX_OPTION],
  ['maxEntryBytes', 1024, MAX_OPTION],
  ['maxTasksPerCaller', 1, MAX_OPTION],
])('%s may be from %i to %i', (name, least, most) => {
  for (const value of [least, most]) expect(engineSettings({ [name]: value })[name]).toBe(value)
  for (const value of [least - 1, most + 1, least + 0.5, Number.NaN]) {
    expect(() => engineSettings({ [name]: value })).toThrow(`${name} is a whole number from ${least} to ${most}.`)
  }
})
