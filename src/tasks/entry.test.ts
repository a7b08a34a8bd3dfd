import { describe, expect, test } from 'vitest'
import { StateError } from '../state/internal.ts'
import {
  approversText,
  entryText,
  isInvalidEntry,
  objectText,
  progressText,
  readApprovers,
  readEntry,
  readObject,
  readProgress,
  readString,
  textOrNull,
} from './entry.ts'
import { TaskError } from './errors.ts'

describe('an entry', () => {
  test('may have exactly so many bytes as JSON', () => {
    expect(entryText('The result', 'ü'.repeat(4), 10)).toBe('"üüüü"')
    expect(() => entryText('The result', 'ü'.repeat(4), 9)).toThrow(/^The result.*10.*9/)
  })

  test('that has to be an object is one once it is written', () => {
    expect(objectText('The result', { a: 1 }, 100)).toBe('{"a":1}')
    expect(() => objectText('The result', { toJSON: () => [] }, 100)).toThrow('is not an object once it is written')
  })

  test('is read as it was written, and what is damaged is not quoted', () => {
    expect([readEntry('{"a":1}'), readObject('{"a":1}'), readString('"a"')]).toEqual([{ a: 1 }, { a: 1 }, 'a'])
    for (const read of [() => readEntry(7), () => readEntry('secret'), () => readObject('[]'), () => readString('7')]) {
      expect(read).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }))
      expect(read).not.toThrow(/secret/)
    }
  })

  test('says how far a task is, and of how much where that is known', () => {
    for (const progress of [{ progress: 1, total: 2 }, { progress: 0 }, undefined]) {
      expect(readProgress(progressText(progress))).toEqual(progress)
    }
    expect(readProgress('{"progress":1,"total":"x"}')).toEqual({ progress: 1 })
    expect(() => readProgress('{"progress":"x"}')).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }))
  })

  test('says who may answer', () => {
    const approvers = { by: ['role:manager'], fourEyes: true }
    expect(readApprovers(approversText(approvers) ?? '')).toEqual(approvers)
    expect(readApprovers('{"by":[]}')).toEqual({ by: [], fourEyes: false })
    expect(approversText(undefined)).toBeNull()
    for (const damaged of ['{"by":"x"}', '{"by":[7]}']) {
      expect(() => readApprovers(damaged)).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }))
    }
  })

  test('that is a string may be missing', () => {
    expect([textOrNull('a'), textOrNull('')]).toEqual(['"a"', '""'])
    expect(textOrNull(undefined)).toBeNull()
  })
})

test.each<[string, boolean, unknown]>([
  ['one that is too large', true, new TaskError('TASK_ENTRY_TOO_LARGE', 'x')],
  ['one that is no JSON', true, new StateError('STATE_NOT_JSON', 'x')],
  ['one that nests too deeply', true, new StateError('STATE_TOO_DEEP', 'x')],
  ['a lost lease', false, new TaskError('LEASE_LOST', 'x')],
  ['a store that is away', false, new StateError('STORE_UNAVAILABLE', 'x')],
  ['anything else', false, new Error('TASK_ENTRY_TOO_LARGE')],
])('%s is the fault of the entry: %s', (_, expected, error) => {
  expect(isInvalidEntry(error)).toBe(expected)
})
