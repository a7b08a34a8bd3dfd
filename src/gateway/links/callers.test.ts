import { expect, test } from 'vitest'
import { groupOf } from '../../state/quota/index.ts'
import { quotaCallerByHeaders } from './callers.ts'

test('a principal whose id has several lines is in no group of another principal', () => {
  const caller = quotaCallerByHeaders({ id: 'ann\nx' }, undefined)
  expect(groupOf(caller)).toBe(caller)
  expect(groupOf(caller)).not.toBe(quotaCallerByHeaders({ id: 'ann' }, undefined))
})
