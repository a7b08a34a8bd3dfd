import { expect, test } from 'vitest'
import type { PushedCall } from './pushedCall.ts'
import { makeRoom, type WaitingLimits } from './waitingLimits.ts'

const limits: WaitingLimits = { perProcess: 10, perHolder: 4, chars: 1000, charsPerHolder: 400 }

interface Waiting {
  readonly holder: string
  readonly chars?: number
  readonly abandoned?: boolean
  readonly name?: string
}

/** Lets one more call wait. Gives the names of those that had to go, or 'refused'. */
function withOneMore(waiting: Waiting[], holder: string, chars = 1): string[] | 'refused' {
  const ended: string[] = []
  const calls = waiting.map(({ chars: own = 1, abandoned = true, name = '', ...rest }) => {
    const call = { ...rest, chars: own, abandoned, isWaiting: true, end: () => {} }
    call.end = () => {
      call.isWaiting = false
      ended.push(name)
    }
    return call as unknown as PushedCall
  })
  try {
    makeRoom(calls, { chars } as PushedCall, holder, limits)
    return ended
  } catch (error) {
    expect(error).toMatchObject({ code: 'PUSH_UNANSWERED' })
    return 'refused'
  }
}

const of = (count: number, holder: string, more: Partial<Waiting> = {}): Waiting[] =>
  Array.from({ length: count }, (_, n) => ({ holder, name: `${holder}${n}`, ...more }))

test('a holder has as many calls as it may, and then its oldest one that is abandoned goes', () => {
  expect(withOneMore(of(3, 'ann'), 'ann')).toEqual([])
  expect(withOneMore(of(4, 'ann'), 'ann')).toEqual(['ann0'])
  expect(withOneMore([...of(1, 'ann', { abandoned: false }), ...of(3, 'ann', { name: 'next' })], 'ann')).toEqual([
    'next',
  ])
  expect(withOneMore(of(4, 'ann', { abandoned: false }), 'ann')).toBe('refused')
  expect(withOneMore(of(4, 'ann'), 'bob')).toEqual([])
})

test('a holder has as many characters as it may, and a single call may have any number', () => {
  expect(withOneMore(of(1, 'ann', { chars: 300 }), 'ann', 100)).toEqual([])
  expect(withOneMore(of(1, 'ann', { chars: 300 }), 'ann', 101)).toEqual(['ann0'])
  expect(withOneMore([], 'ann', 5000)).toEqual([])
})

test('when all together are too many, the holder of the most loses one', () => {
  const waiting = [...of(3, 'ann'), ...of(4, 'bob'), ...of(2, 'cay')]
  expect(withOneMore(waiting, 'dan')).toEqual([])
  expect(withOneMore([...waiting, ...of(1, 'dan')], 'eve')).toEqual(['bob0'])
})

test('when all together hold too much, the holder of the most characters loses one', () => {
  const waiting = [...of(3, 'ann', { chars: 100 }), ...of(1, 'bob', { chars: 400 }), ...of(1, 'cay', { chars: 299 })]
  expect(withOneMore(waiting, 'dan', 1)).toEqual([])
  expect(withOneMore(waiting, 'dan', 2)).toEqual(['bob0'])
})

test('a group has half of the room, and then the largest holder of it loses one', () => {
  const near = [...of(3, 'net\nann'), ...of(1, 'net\nbob')]
  expect(withOneMore(near, 'net\ncay')).toEqual([])
  expect(withOneMore([...near, ...of(1, 'net\ndan')], 'net\ncay')).toEqual(['net\nann0'])
  expect(withOneMore([...near, ...of(1, 'net\ndan')], 'elsewhere\ncay')).toEqual([])
  const full = [...of(1, 'net\nann', { chars: 350 }), ...of(2, 'net\nbob', { chars: 70 })]
  expect(withOneMore(full, 'net\ncay', 10)).toEqual([])
  expect(withOneMore(full, 'net\ncay', 11)).toEqual(['net\nann0'])
})

test('where no client has disconnected, who has the most loses the oldest call to one who would have less', () => {
  const here = { abandoned: false }
  const waiting = [...of(3, 'ann', here), ...of(4, 'bob', here), ...of(3, 'cay', here)]
  expect(withOneMore(waiting, 'dan')).toEqual(['bob0'])
  expect(withOneMore(waiting, 'cay')).toBe('refused')
  expect(withOneMore(waiting, 'bob')).toBe('refused')
  const alike = Array.from({ length: 10 }, (_, n) => ({ holder: `one ${n}`, ...here }))
  expect(withOneMore(alike, 'dan')).toBe('refused')
  const large = [...of(3, 'ann', { ...here, chars: 130 }), ...of(2, 'bob', { ...here, chars: 300 })]
  expect(withOneMore(large, 'dan', 11)).toEqual(['bob0'])
  expect(withOneMore(large, 'dan', 600)).toBe('refused')
})

test('where no client has disconnected, the many holders of one group lose to one who is not of it', () => {
  const many = (group: string) =>
    Array.from({ length: 5 }, (_, n) => ({ holder: `${group}\n${n}`, name: `${group} ${n}`, abandoned: false }))
  const waiting = [...many('net'), ...many('other')]
  expect(withOneMore(waiting, 'dan')).toEqual(['net 0'])
  expect(withOneMore(waiting, 'third\ndan')).toEqual(['net 0'])
  expect(withOneMore(waiting, 'net\nnew')).toBe('refused')
})
