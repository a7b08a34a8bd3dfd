import type { InputRequest } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type ParkedWay, ParkedCall, Parking } from './parking.ts'

const request: InputRequest = { method: 'roots/list' }
const channel = { notify: () => {}, onCancel: () => {} }

/** A server that asks the questions one after the other, and gives back what it was answered. */
function parked(questions = 1): ParkedCall {
  const call = new ParkedCall('files')
  call.run(async ({ ask }) => {
    const answers: unknown[] = []
    for (let time = 0; time < questions; time++) answers.push(await ask(request))
    return { answers }
  })
  return call
}

describe('a parked call', () => {
  test('asks, takes the answers, and ends', async () => {
    const call = parked(2)
    const first = await call.round(channel, {})
    expect(first).toEqual({ kind: 'asked', requests: new Map([['question-1', request]]) })
    const second = await call.round(channel, { 'question-1': { roots: ['a'] } })
    expect(second).toEqual({ kind: 'asked', requests: new Map([['question-2', request]]) })
    const last = await call.round(channel, { 'question-2': { roots: ['b'] } })
    expect(last).toEqual({ kind: 'done', result: { answers: [{ roots: ['a'] }, { roots: ['b'] }] } })
  })

  test('gives a round that is sent twice the same end, and the first answer counts', async () => {
    const call = parked()
    await call.round(channel, {})
    const [one, other] = await Promise.all([
      call.round(channel, { 'question-1': { roots: ['a'] } }),
      call.round(channel, { 'question-1': { roots: ['b'] } }),
    ])
    expect(one).toEqual({ kind: 'done', result: { answers: [{ roots: ['a'] }] } })
    expect(other).toEqual(one)
    expect(await call.round(channel, {})).toEqual(one)
  })

  test('asks again what was not answered', async () => {
    const call = parked()
    const first = await call.round(channel, {})
    expect(await call.round(channel, {})).toEqual(first)
    expect(await call.round(channel, { other: {}, 'question-1': 'no answer' })).toEqual(first)
  })

  test('asks in one round what the server asks at once', async () => {
    const call = new ParkedCall('files')
    call.run(async ({ ask }) => ({ answers: await Promise.all([ask(request), ask(request)]) }))
    expect(await call.round(channel, {})).toMatchObject({
      requests: new Map([
        ['question-1', request],
        ['question-2', request],
      ]),
    })
  })

  test('reports to the client of the round that is under way', async () => {
    const call = new ParkedCall('files')
    const seen: string[] = []
    const ways: ParkedWay[] = []
    call.run(async (way) => {
      ways.push(way)
      way.notify('first', {})
      await way.ask(request)
      way.notify('second', {})
      return {}
    })
    const of = (round: number) => ({ ...channel, notify: (method: string) => void seen.push(`${round} ${method}`) })
    await call.round(of(1), {})
    await call.round(of(2), { 'question-1': {} })
    expect(seen).toEqual(['2 second'])
    expect(ways).toHaveLength(1)
  })

  test('is cancelled with the round in which its client leaves, and not by a round that is over', async () => {
    const call = new ParkedCall('files')
    const cancelled = vi.fn<() => void>()
    call.run(async ({ ask, onCancel }) => {
      onCancel(cancelled)
      await ask(request)
      return new Promise(() => {})
    })
    let leave = (): void => {}
    const leaving = { ...channel, onCancel: (listener: () => void) => void (leave = listener) }
    await call.round(leaving, {})
    leave()
    expect(cancelled).not.toHaveBeenCalled()
    const round = call.round(leaving, { 'question-1': {} })
    leave()
    expect(cancelled).toHaveBeenCalledOnce()
    await expect(round).rejects.toThrow('nobody answers any more')
    await expect(call.round(channel, {})).rejects.toThrow('nobody answers any more')
  })
})

describe('parking', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('keeps a call until nobody can answer it any more, and cancels it then', async () => {
    const parking = new Parking()
    const call = parked()
    parking.keep(call, 'files', 'ann', 1000)
    expect(parking.find(call.id)).toBe(call)
    await vi.advanceTimersByTimeAsync(1001)
    expect(parking.find(call.id)).toBeUndefined()
    expect(call.hasEnded).toBe(true)
  })

  test('keeps the end for a minute, for a client that did not get it', async () => {
    const parking = new Parking()
    const call = parked(0)
    parking.keep(call, 'files', 'ann', 1000)
    await vi.advanceTimersByTimeAsync(59_000)
    expect(parking.find(call.id)).toBe(call)
    await vi.advanceTimersByTimeAsync(2000)
    expect(parking.size).toBe(0)
  })

  test('has room for the calls of others when one caller has parked too many', () => {
    const parking = new Parking({ maxCalls: 10, maxOfCaller: 2 })
    for (let time = 0; time < 2; time++) parking.keep(parked(), 'files', 'ann', 1000)
    expect(() => parking.keep(parked(), 'files', 'ann', 1000)).toThrow(
      /"files" has asked something, and too many calls/,
    )
    parking.keep(parked(), 'files', 'bob', 1000)
    parking.close()
    expect(parking.size).toBe(0)
  })
})
