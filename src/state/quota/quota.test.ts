import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Evictable, Heap } from './tally.ts'
import { fairShareOf, groupOf, Quota, type QuotaOptions } from './quota.ts'

interface Step {
  readonly caller: string
  readonly chars?: number
  readonly evictable?: Evictable
}

const of = (count: number, caller: string, more: Partial<Step> = {}): Step[] =>
  Array.from({ length: count }, () => ({ caller, ...more }))

/** Puts these items, then one more. Gives the names of those that were evicted for it, or 'refused'. */
function withOneMore(options: QuotaOptions<string>, items: readonly Step[], last: Step): string[] | 'refused' {
  const evicted: string[] = []
  const quota = new Quota<string>({ ...options, evict: (item) => evicted.push(item) })
  const numbers = new Map<string, number>()
  const put = (step: Step): boolean => {
    const number = numbers.get(step.caller) ?? 0
    numbers.set(step.caller, number + 1)
    return quota.put(`${step.caller}${number}`, step)
  }
  for (const step of items) expect(put(step)).toBe(true)
  expect(evicted).toEqual([])
  return put(last) ? evicted : 'refused'
}

const limits = {
  caller: { places: 4, chars: 400 },
  group: { places: 5, chars: 500 },
  all: { places: 10, chars: 1000 },
}

describe('what does not fit', () => {
  test('a caller has as many items as it may, and then loses its oldest', () => {
    expect(withOneMore(limits, of(3, 'ann'), { caller: 'ann' })).toEqual([])
    expect(withOneMore(limits, of(4, 'ann'), { caller: 'ann' })).toEqual(['ann0'])
    expect(withOneMore(limits, of(4, 'ann'), { caller: 'bob' })).toEqual([])
    const [first, ...others] = of(4, 'ann')
    expect(
      withOneMore(limits, [{ ...first, caller: 'ann', evictable: 'never' }, ...others], { caller: 'ann' }),
    ).toEqual(['ann1'])
    for (const evictable of ['if-larger', 'never'] as const)
      expect(withOneMore(limits, of(4, 'ann', { evictable }), { caller: 'ann' })).toBe('refused')
  })

  test('a caller has as many characters as it may, and a single item may have any number', () => {
    expect(withOneMore(limits, of(1, 'ann', { chars: 300 }), { caller: 'ann', chars: 100 })).toEqual([])
    expect(withOneMore(limits, of(1, 'ann', { chars: 300 }), { caller: 'ann', chars: 101 })).toEqual(['ann0'])
    expect(withOneMore(limits, [], { caller: 'ann', chars: 5000 })).toEqual([])
  })

  test('where all have too many, the largest caller loses its oldest', () => {
    const items = [...of(3, 'ann'), ...of(4, 'bob'), ...of(2, 'cay')]
    expect(withOneMore(limits, items, { caller: 'dan' })).toEqual([])
    expect(withOneMore(limits, [...items, ...of(1, 'dan')], { caller: 'eve' })).toEqual(['bob0'])
  })

  test('where all have too much, the caller with the most characters loses items that have any', () => {
    const items = [
      ...of(3, 'ann', { chars: 100 }),
      ...of(1, 'bob', { chars: 0 }),
      ...of(1, 'bob', { chars: 400 }),
      ...of(1, 'cay', { chars: 299 }),
    ]
    expect(withOneMore(limits, items, { caller: 'dan', chars: 1 })).toEqual([])
    expect(withOneMore(limits, items, { caller: 'dan', chars: 2 })).toEqual(['bob1'])
  })

  test('of callers who have the same, the one whose item is evictable for longest loses it', () => {
    const all = { places: 2 }
    expect(withOneMore({ all }, [{ caller: 'bob' }, { caller: 'ann' }], { caller: 'cay' })).toEqual(['bob0'])
    const evicted: string[] = []
    const quota = new Quota<string>({ all, evict: (item) => evicted.push(item) })
    for (const item of ['bob', 'ann']) quota.put(item, { caller: item })
    quota.setEvictable('bob', 'never')
    quota.setEvictable('bob', 'always')
    quota.put('cay', { caller: 'cay' })
    expect(evicted).toEqual(['ann'])
  })

  test('a group has a limit, and then the largest caller of it loses an item', () => {
    const near = [...of(3, 'net\nann'), ...of(1, 'net\nbob')]
    expect(withOneMore(limits, near, { caller: 'net\ncay' })).toEqual([])
    expect(withOneMore(limits, [...near, ...of(1, 'net\ndan')], { caller: 'net\ncay' })).toEqual(['net\nann0'])
    expect(withOneMore(limits, [...near, ...of(1, 'net\ndan')], { caller: 'other\ncay' })).toEqual([])
    const full = [...of(1, 'net\nann', { chars: 350 }), ...of(2, 'net\nbob', { chars: 70 })]
    expect(withOneMore(limits, full, { caller: 'net\ncay', chars: 10 })).toEqual([])
    expect(withOneMore(limits, full, { caller: 'net\ncay', chars: 11 })).toEqual(['net\nann0'])
  })

  test('those of a group without a name of their own have the limit of the group alone', () => {
    expect(withOneMore(limits, of(4, 'net\n'), { caller: 'net\n' })).toEqual([])
    expect(withOneMore(limits, of(5, 'net\n', { evictable: 'never' }), { caller: 'net\n' })).toBe('refused')
  })

  test('an item that is put again counts with its new size, and is not evicted for itself', () => {
    const evicted: string[] = []
    const quota = new Quota<string>({ all: { chars: 10 }, evict: (item) => evicted.push(item) })
    for (const item of ['a', 'b']) quota.put(item, { caller: 'ann', chars: 4 })
    expect([quota.fits({ caller: 'ann', chars: 2 }), quota.fits({ caller: 'ann', chars: 3 })]).toEqual([true, false])
    expect([quota.fits({ caller: 'ann' }), quota.all]).toEqual([true, { places: 2, chars: 8 }])
    expect(quota.put('a', { caller: 'ann', chars: 6 })).toBe(true)
    expect([quota.all, evicted]).toMatchObject([{ places: 2, chars: 10 }, []])
    expect(quota.put('a', { caller: 'ann', chars: 7 })).toBe(true)
    expect([quota.of('ann'), evicted]).toMatchObject([{ places: 1, chars: 7 }, ['b']])
  })
})

test('an item that grows within the limits keeps its age', () => {
  const evicted: string[] = []
  const quota = new Quota<string>({ all: { chars: 10 }, evict: (item) => evicted.push(item) })
  for (const [item, chars] of [
    ['a', 2],
    ['b', 2],
    ['a', 3],
    ['c', 7],
  ] as const)
    quota.put(item, { caller: 'ann', chars })
  expect(evicted).toEqual(['a'])
})

describe('items for which only some others are evicted', () => {
  const own = { evictable: 'if-larger' } as const

  test('a caller loses the oldest to one who would have less', () => {
    const items = [...of(3, 'ann', own), ...of(4, 'bob', own), ...of(3, 'cay', own)]
    expect(withOneMore(limits, items, { caller: 'dan' })).toEqual(['bob0'])
    expect(withOneMore(limits, items, { caller: 'cay' })).toBe('refused')
    expect(withOneMore(limits, items, { caller: 'bob' })).toBe('refused')
    const alike = Array.from({ length: 10 }, (_, n) => ({ caller: `one ${n}`, ...own }))
    expect(withOneMore(limits, alike, { caller: 'dan' })).toBe('refused')
    const large = [...of(3, 'ann', { ...own, chars: 130 }), ...of(2, 'bob', { ...own, chars: 200 })]
    expect(withOneMore(limits, large, { caller: 'dan', chars: 211 })).toEqual(['bob0'])
    expect(withOneMore(limits, large, { caller: 'dan', chars: 600 })).toBe('refused')
  })

  test('the many callers of one group lose to one who is not of it', () => {
    const many = (group: string) => Array.from({ length: 5 }, (_, n) => ({ caller: `${group}\n${n}`, ...own }))
    const items = [...many('net'), ...many('other')]
    expect(withOneMore(limits, items, { caller: 'dan' })).toEqual(['net\n00'])
    expect(withOneMore(limits, items, { caller: 'third\ndan' })).toEqual(['net\n00'])
    expect(withOneMore(limits, items, { caller: 'net\nnew' })).toBe('refused')
  })

  test('of one caller those go first that may always be evicted', () => {
    const items = [...of(1, 'bob', { evictable: 'unless-smaller' }), ...of(1, 'bob', own), ...of(2, 'bob')]
    expect(withOneMore({ all: { places: 4 } }, items, { caller: 'ann' })).toEqual(['bob2'])
  })

  test('some go to anyone who would have as much', () => {
    const places = { all: { places: 2 } }
    const as = { evictable: 'unless-smaller' } as const
    expect(withOneMore(places, [...of(1, 'ann', as), ...of(1, 'bob', as)], { caller: 'cay' })).toEqual(['ann0'])
    expect(withOneMore(places, of(2, 'ann', as), { caller: 'ann' })).toEqual(['ann0'])
    const taken = [...of(1, 'ann', as), ...of(1, 'bob', { evictable: 'never' })]
    expect(withOneMore(places, taken, { caller: 'bob' })).toBe('refused')
  })
})

test('an item is evicted on request, by number or by size, for a caller who would have less', () => {
  const evicted: string[] = []
  const quota = new Quota<string>({ evict: (item) => evicted.push(item) })
  for (const item of ['a1', 'a2']) quota.put(item, { caller: 'ann', chars: 1, evictable: 'if-larger' })
  quota.put('b', { caller: 'bob', chars: 5 })
  const evictions = [quota.evict('places', 'cay'), quota.evict('chars'), quota.evict('places', 'cay')]
  expect(evictions).toEqual([true, true, false])
  expect([evicted, quota.callers, quota.of('cay')]).toMatchObject([['a1', 'b'], 1, { places: 0 }])
})

test('places without items are counted up to the limits, of which the widest is named', () => {
  const quota = new Quota({ caller: { places: 1 }, group: { places: 2 }, all: { places: 3 } })
  expect(['net\na', 'net\na', 'net\nb', 'net\nb', 'c', 'c'].map((caller) => quota.take(caller))).toEqual([
    undefined,
    'caller',
    undefined,
    'group',
    undefined,
    'all',
  ])
  quota.release('net\na')
  quota.release('nobody')
  expect([quota.all.places, quota.callers, quota.take('c'), quota.take('net\na')]).toEqual([2, 2, 'caller', undefined])
})

test.each([
  ['ann', 'ann'],
  ['network\nann', 'network'],
  ['network\n', 'network'],
  ['\nann', ''],
])('the group of the caller %j is %j', (caller, group) => {
  expect(groupOf(caller)).toBe(group)
})

test('the fair share of a caller is half, and at least one', () => {
  expect([0, 1, 4, 5].map(fairShareOf)).toEqual([1, 1, 2, 3])
})

test('a heap has the largest item on top, whatever is added, changed and removed', () => {
  const step = fc.tuple(fc.nat(40), fc.option(fc.nat(20), { nil: undefined, freq: 2 }))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const sizes = new Map<number, number>()
      const sizeOf = (item: number) => sizes.get(item) ?? 0
      const heap = new Heap<number>((one, other) => sizeOf(one) > sizeOf(other))
      for (const [item, size] of steps) {
        if (size !== undefined) sizes.set(item, size)
        if (size === undefined) heap.delete(item)
        else heap.set(item)
        if (size === undefined) sizes.delete(item)
        expect(heap.top === undefined ? undefined : sizeOf(heap.top)).toBe(
          sizes.size === 0 ? undefined : Math.max(...sizes.values()),
        )
      }
    }),
  )
})
