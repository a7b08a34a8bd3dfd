import { expect, test } from 'vitest'
import { groupOf } from '../../state/stores/index.ts'
import { holderByHeaders } from './callers.ts'

test('a principal whose id has several lines is in no group of another principal', () => {
  const holder = holderByHeaders({ id: 'ann\nx' }, undefined)
  expect(groupOf(holder)).toBe(holder)
  expect(groupOf(holder)).not.toBe(holderByHeaders({ id: 'ann' }, undefined))
})
