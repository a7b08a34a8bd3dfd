import { describe, expect, test } from 'vitest'
import { finalResult, readTask, readWholeTask } from './task.ts'

const least = { taskId: 't', status: 'working' }

describe('a task', () => {
  test('has what the server says of it, and nothing that is of the wrong kind', () => {
    const said = { statusMessage: 'half', createdAt: 'then', lastUpdatedAt: 'now', ttlMs: 5, pollIntervalMs: 0 }
    expect(readTask({ ...least, ...said, more: 1 })).toEqual({ ...least, ...said })
    const wrong = { statusMessage: 1, createdAt: 2, lastUpdatedAt: 3, ttlMs: 'x', pollIntervalMs: -1 }
    expect(readTask({ ...least, ...wrong })).toEqual({ ...least, ttlMs: null })
    expect(readTask({ ...least, ttlMs: 0, pollIntervalMs: Infinity })).toEqual({ ...least, ttlMs: 0 })
  })

  test('of the session era has other names for its times', () => {
    expect(readTask({ ...least, ttl: 7, pollInterval: 8 })).toEqual({ ...least, ttlMs: 7, pollIntervalMs: 8 })
    expect(readTask({ ...least, ttl: null })).toEqual({ ...least, ttlMs: null })
  })

  test('has its progress from its metadata, or beside it', () => {
    const progress = { progress: 1, total: 2 }
    expect(readTask({ ...least, progress }).progress).toEqual(progress)
    expect(readTask({ ...least, _meta: { 'dev.pannier/progress': progress }, progress: 7 }).progress).toEqual(progress)
  })

  test.each<[unknown, RegExp]>([
    ['text', /not an object/],
    [{ ...least, taskId: '' }, /no id/],
    [{ ...least, taskId: 7 }, /no id/],
    [{ ...least, taskId: 'x'.repeat(4097) }, /no id/],
    [{ ...least, taskId: 'other' }, /not the one that was asked for/],
    [{ ...least, status: 'odd' }, /status does not exist/],
  ])('that cannot be is refused with what is wrong', (value, sentence) => {
    expect(() => readTask(value, 't')).toThrow(sentence)
  })

  test('may have an id of 4096 characters', () => {
    const taskId = 'x'.repeat(4096)
    expect(readTask({ ...least, taskId }).taskId).toBe(taskId)
  })
})

describe('a whole task', () => {
  const error = { code: -1, message: 'no' }

  test.each<[string, object, object]>([
    ['working', { result: {} }, {}],
    ['cancelled', { result: {} }, {}],
    ['completed', { result: { a: 1 } }, { result: { a: 1 } }],
    ['failed', { error: { ...error, more: 1 } }, { error }],
    ['failed', { error: { ...error, data: 0 } }, { error: { ...error, data: 0 } }],
    [
      'input_required',
      { inputRequests: { a: { method: 'roots/list' } } },
      { inputRequests: { a: { method: 'roots/list' } } },
    ],
  ])('that is %s has what belongs to that', (status, more, expected) => {
    expect(readWholeTask({ taskId: 't', status, ...more })).toEqual({ taskId: 't', status, ttlMs: null, ...expected })
  })

  test.each<[string, object, RegExp]>([
    ['completed', {}, /has no result/],
    ['failed', {}, /has no error/],
    ['failed', { error: { ...error, code: 1.5 } }, /not a JSON-RPC error/],
    ['failed', { error: { ...error, code: '1' } }, /not a JSON-RPC error/],
    ['failed', { error: { code: -1 } }, /not a JSON-RPC error/],
  ])('that is %s and lacks it is refused', (status, more, sentence) => {
    expect(() => readWholeTask({ taskId: 't', status, ...more })).toThrow(sentence)
  })
})

test('the result of a task is complete, whether it says so or not, and nothing else', () => {
  expect(finalResult({ a: 1 })).toEqual({ a: 1, resultType: 'complete' })
  expect(finalResult({ resultType: 'complete' })).toEqual({ resultType: 'complete' })
  expect(() => finalResult({ resultType: 'task' })).toThrow('asks for input or is another task')
})
