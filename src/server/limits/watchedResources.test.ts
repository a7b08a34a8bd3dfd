import { expect, test } from 'vitest'
import { WatchedResources } from './watchedResources.ts'

const many = (count: number, name = 'item') => Array.from({ length: count }, (_, index) => `${name}://${index}`)

const limited = (max: number) => new WatchedResources({ max })

test('without a limit everybody watches what they like, and only the first and the last watcher are told of', () => {
  const told: string[] = []
  const onChange = (uri: string, isWatched: boolean) => void told.push(`${isWatched ? '+' : '-'}${uri}`)
  const watched = new WatchedResources({ onChange })
  for (const caller of ['ann', 'bob']) expect(watched.add(['a', 'b'], caller)).toEqual(['a', 'b'])
  for (const caller of ['ann', 'bob']) watched.remove(['a'], caller)
  expect(told).toEqual(['+a', '+b', '-a'])
})

test('one caller has half of the limit, and has room again after giving some back', () => {
  const watched = limited(10)
  expect(watched.add(many(8), 'ann')).toEqual(many(5))
  expect(watched.add(['x'], 'ann')).toEqual([])
  expect(watched.add(many(5), 'bob')).toEqual(many(5))
  watched.remove(['item://0'], 'ann')
  expect(watched.add(['x', 'y'], 'ann')).toEqual(['x'])
})

test('where all of it is taken, those with the most are refused, and others have room', () => {
  const watched = limited(12)
  for (const caller of ['ann', 'bob']) watched.add(many(6, caller), caller)
  expect(watched.add(['x'], 'ann')).toEqual([])
  expect(watched.add(many(9, 'cem'), 'cem')).toEqual(many(4, 'cem'))
  expect(watched.add(many(9, 'dee'), 'dee')).toEqual(many(3, 'dee'))
})

test('sessions of one network are one caller', () => {
  const watched = limited(4)
  const sessions = many(10, 'session').map((session) => `network 192.0.2.1\n${session}`)
  expect(sessions.flatMap((caller) => watched.add(['item://x'], caller))).toHaveLength(2)
  expect(watched.add(['item://x'], 'network 192.0.2.2\n')).toEqual(['item://x'])
})
