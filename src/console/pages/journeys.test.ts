import { expect, test } from 'vitest'
import type { RecordedRound } from '../../gateway/internal.ts'
import { journeysOf } from './journeys.ts'

const round = (startedAt: number, more: Partial<RecordedRound> = {}): RecordedRound => ({
  server: 'crm',
  method: 'tools/call',
  name: 'refund',
  route: '/mcp',
  startedAt,
  ms: 10,
  outcome: 'complete',
  events: [],
  ...more,
})

function keysOf(items: Readonly<Record<string, RecordedRound>>): string[][] {
  return journeysOf(new Map(Object.entries(items))).map(({ rounds }) => rounds.map(({ key }) => key))
}

test('a round that brings the state of another one belongs to its call, in whichever process it ran', () => {
  const items = {
    'a/1': round(0, { outcome: 'asked', gave: 's1' }),
    'b/1': round(5000, { outcome: 'asked', brought: 's1', gave: 's2' }),
    'a/2': round(9000, { brought: 's2' }),
    'a/3': round(9500),
  }
  expect(keysOf(items)).toEqual([['a/3'], ['a/1', 'b/1', 'a/2']])
})

test('a forwarded round belongs to the call of the process that forwarded it', () => {
  const items = {
    'b/1': round(100, { brought: 's1', ms: 50 }),
    'a/9': round(110, { brought: 's1', forwardedBy: 'b', ms: 30 }),
    'b/2': round(200, { requestId: 7, ms: 50 }),
    'a/10': round(210, { requestId: 7, forwardedBy: 'b', ms: 30 }),
    'c/1': round(205, { requestId: 7, forwardedBy: 'd', ms: 5 }),
  }
  expect(keysOf(items)).toEqual([['c/1'], ['b/2', 'a/10'], ['b/1', 'a/9']])
})

test('equal request ids of different clients do not join calls that do not run within each other', () => {
  const items = { 'a/1': round(0, { requestId: 1 }), 'a/2': round(20, { requestId: 1 }) }
  expect(keysOf(items)).toEqual([['a/2'], ['a/1']])
})

test('a call whose last round asked waits, and one whose round has not ended runs', () => {
  const { ms: _, outcome: __, ...running } = round(100)
  const items = { 'a/1': round(0, { outcome: 'asked', gave: 's1' }), 'a/2': running }
  const found = journeysOf(new Map(Object.entries(items)))
  expect(found.map(({ outcome, endedAt }) => [outcome, endedAt])).toEqual([
    ['running', undefined],
    ['waiting', undefined],
  ])
})
