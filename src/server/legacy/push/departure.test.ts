/** How calls leave, with calls that are only what a departure sees of them, by a clock that the test moves. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Instance } from '../../../cluster/index.ts'
import { Departure } from './departure.ts'
import type { PushedCall } from './pushedCall.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const other: Instance = { id: 'other', url: 'http://other/mcp' }
const snapshot = { call: { request: { id: 7 } }, caller: { peer: { session: 's' } } }

function waiting(more: object = {}) {
  const call = {
    move: { isBound: false, newOwner: undefined as unknown, snapshot: () => snapshot },
    claims: { carried: false },
    canMove: true,
    ended: false,
    isWaiting: true,
    arrived: async () => {},
    end: (why: string) => void log.push(`ended: ${why.slice(0, 13)}`),
    ...more,
  }
  return call as unknown as PushedCall & { -readonly [K in keyof typeof call]: (typeof call)[K] }
}

let log: string[] = []

function begin(calls: PushedCall[], taker: () => Promise<Instance | undefined>, canHandOff = async () => true) {
  log = []
  const departure = new Departure({
    calls: {
      movable: () => calls,
      leave: (_: unknown, to?: Instance) => void log.push(`left to ${to?.id ?? 'others'}`),
    } as never,
    canHandOff,
    handOff: taker,
    cancel: (session, id) => void log.push(`cancelled ${session} ${id}`),
  })
  const patience = new AbortController()
  let isOver = false
  expect(departure.hasBegun).toBe(false)
  void departure.begin(patience.signal).then(() => (isOver = true))
  expect(departure.hasBegun).toBe(true)
  return { departure, patience, isOver: () => isOver }
}

const soon = () => vi.advanceTimersByTimeAsync(0)

describe('a call', () => {
  test('goes to another instance that takes it, and the departure is over then', async () => {
    const taken = Promise.withResolvers<Instance | undefined>()
    const call = waiting()
    const { isOver } = begin([call], () => taken.promise)
    await soon()
    expect([isOver(), log, call.move.newOwner]).toEqual([false, [], taken.promise])
    taken.resolve(other)
    await soon()
    expect([isOver(), log, call.move.newOwner]).toEqual([true, ['left to other'], undefined])
  })

  test('that ended here meanwhile is cancelled there', async () => {
    const call = waiting()
    begin([call], async () => {
      call.ended = true
      return other
    })
    await soon()
    expect(log).toEqual(['cancelled s 7', 'left to other'])
  })

  test('stays while there is no taker, who is looked for ten times a second, and is told when patience is over', async () => {
    const canHandOff = vi.fn(async () => false)
    const { patience, isOver } = begin([waiting()], async () => other, canHandOff)
    await soon()
    expect(canHandOff).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(99)
    expect(canHandOff).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(101)
    expect([canHandOff.mock.calls.length, isOver(), log]).toEqual([3, false, []])
    patience.abort()
    await soon()
    expect([isOver(), log]).toEqual([true, ['ended: This instance']])
  })

  test('whose state is out there waits for nobody, and leaves without a word', async () => {
    const canHandOff = vi.fn(async () => false)
    const { isOver } = begin([waiting({ claims: { carried: true } })], async () => undefined, canHandOff)
    await soon()
    expect([isOver(), log, canHandOff.mock.calls.length]).toEqual([true, ['left to others'], 0])
  })

  test('on a connection of its own is answered here for as long as there is patience', async () => {
    const call = waiting({ move: { isBound: true }, canMove: false })
    const { patience, isOver } = begin([call], async () => other)
    await vi.advanceTimersByTimeAsync(1000)
    expect([isOver(), log]).toEqual([false, []])
    patience.abort()
    await soon()
    expect([isOver(), log]).toEqual([true, ['ended: This instance']])
    const answered = waiting({ move: { isBound: true }, canMove: false })
    const second = begin([answered], async () => other)
    await soon()
    answered.isWaiting = false
    await vi.advanceTimersByTimeAsync(100)
    expect([second.isOver(), log]).toEqual([true, []])
  })

  test('whose answer is being taken leaves after that, or goes on', async () => {
    const taken = Promise.withResolvers<void>()
    const call = waiting()
    call.arrived = async () => {
      await taken.promise
      call.canMove = false
    }
    const handOff = vi.fn(async () => other)
    const { isOver } = begin([call], handOff)
    await soon()
    expect([isOver(), handOff.mock.calls.length]).toEqual([false, 0])
    taken.resolve()
    await soon()
    expect([isOver(), handOff.mock.calls.length, log]).toEqual([true, 0, []])
  })

  test('that waits only later leaves as well, and each once', async () => {
    const handOff = vi.fn(async () => other)
    const { departure } = begin([], handOff)
    const late = waiting()
    departure.waits(late)
    departure.waits(late)
    await soon()
    expect([handOff.mock.calls.length, log]).toEqual([1, ['left to other']])
  })
})

test('before a departure has begun nobody leaves', async () => {
  log = []
  const options = { calls: { movable: () => [], leave() {} } as never, canHandOff: async () => true }
  const handOff = vi.fn(async () => other)
  const departure = new Departure({ ...options, handOff, cancel() {} })
  departure.waits(waiting())
  await soon()
  expect(handOff).not.toHaveBeenCalled()
})
