import type { InputRequest } from '@modelcontextprotocol/client'
import { describe, expect, test, vi } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import { digestOf } from '../../state/internal.ts'
import { BackendError } from '../errors.ts'
import { AskAgain, type Presence } from '../links/relayed.ts'
import { ParkedCall, type ParkedOutcome, type ParkedWay } from './parkedCall.ts'

const request: InputRequest = { method: 'roots/list' }
const once = { server: 'files', mayRepeat: () => false }
const channel = { notify: () => {}, onCancel: () => {} }
const answersOf = (way: ParkedWay, questions: number) => async () => {
  const answers: unknown[] = []
  for (let time = 0; time < questions; time++) answers.push(await way.ask(request))
  return { answers }
}

/** A server that asks the questions one after the other, and gives back what it was answered. */
async function parked(questions = 1) {
  const call = new ParkedCall('id', once)
  const first = await call.begin(channel, (way) => answersOf(way, questions)())
  return { call, first }
}

/** What a client that was asked this brings back. */
function brought(asked: ParkedOutcome, responses: Json) {
  if (asked.kind === 'done') throw new Error('Nothing was asked.')
  const questions = Array.from(asked.requests, ([key, question]) => [key, digestOf(question)])
  return { generation: asked.generation, questions: Object.fromEntries(questions), responses }
}

const asking = (key: string, generation: number, answers: unknown = []) => ({
  kind: 'asked',
  generation,
  requests: new Map([[key, request]]),
  answers,
})

describe('a parked call', () => {
  test('asks, takes the answers, and ends', async () => {
    const { call, first } = await parked(2)
    expect(first).toEqual(asking('question-1', 0))
    const second = await call.round(channel, brought(first, { 'question-1': { roots: ['a'] } }))
    expect(second).toEqual(asking('question-2', 1, [[digestOf(request), { roots: ['a'] }]]))
    const last = await call.round(channel, brought(second, { 'question-2': { roots: ['b'] } }))
    expect(last).toEqual({ kind: 'done', result: { answers: [{ roots: ['a'] }, { roots: ['b'] }] } })
  })

  test('that has ended lets go of what would have cancelled it', async () => {
    const cancelled = vi.fn<() => void>()
    const call = new ParkedCall('id', once)
    await call.begin(channel, async ({ onCancel }) => {
      onCancel(cancelled)
      return {}
    })
    call.cancel()
    expect(cancelled).not.toHaveBeenCalled()
  })

  test('asks again, in this call or in another, when the gateway that asked its client has ended', async () => {
    let lose = (): void => {}
    const onLost = vi.fn((listener: () => void) => {
      lose = listener
      return () => (lose = () => {})
    })
    const presences: Presence[] = []
    const call = new ParkedCall('id', once)
    const first = await call.begin({ ...channel, onLost }, async (way) => {
      const lost = await way.ask(request).catch((error: unknown) => error)
      presences.push(way.presence())
      const answer = await way.ask(request)
      presences.push(way.presence())
      return { isLost: lost instanceof AskAgain, answer }
    })
    lose()
    await vi.waitFor(() => expect(presences).toEqual(['gone']))
    const answer = { roots: ['a'] }
    const last = await call.round(channel, brought(first, { 'question-1': answer }))
    expect(last).toEqual({ kind: 'done', result: { isLost: true, answer } })
    expect(presences).toEqual(['gone', 'here'])
  })

  test('keeps its questions when a gateway ends that asked its client before another one did', async () => {
    const listeners = new Set<() => void>()
    const onLost = (listener: () => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
    const call = new ParkedCall('id', once)
    const first = await call.begin({ ...channel, onLost }, (way) => answersOf(way, 1)())
    expect(listeners.size).toBe(1)
    expect(await call.round(channel, brought(first, {}))).toEqual(first)
    expect(listeners.size).toBe(0)
  })

  test('gives a round that is sent twice the same end, and the first answer counts', async () => {
    const { call, first } = await parked()
    const [one, other] = await Promise.all([
      call.round(channel, brought(first, { 'question-1': { roots: ['a'] } })),
      call.round(channel, brought(first, { 'question-1': { roots: ['b'] } })),
    ])
    expect(one).toEqual({ kind: 'done', result: { answers: [{ roots: ['a'] }] } })
    expect(other).toEqual(one)
    expect(await call.round(channel, brought(first, {}))).toEqual(one)
  })

  test('asks the same once more where a response was lost, also when it has gone on since', async () => {
    const { call, first } = await parked(3)
    const answer = brought(first, { 'question-1': { roots: ['a'] } })
    const second = await call.round(channel, answer)
    expect(await call.round(channel, answer)).toEqual(second)
    await call.round(channel, brought(second, { 'question-2': { roots: ['b'] } }))
    expect(await call.round(channel, answer)).toEqual(second)
  })

  test('remembers the last rounds, and says so of those before', async () => {
    const { call, first } = await parked(9)
    let asked = first
    for (let time = 1; time <= 6; time++)
      asked = await call.round(channel, brought(asked, { [`question-${time}`]: {} }))
    await expect(call.round(channel, brought(first, { 'question-1': {} }))).rejects.toThrow('has gone on since')
  })

  test('asks again what was not answered', async () => {
    const { call, first } = await parked()
    expect(await call.round(channel, brought(first, {}))).toEqual(first)
    expect(await call.round(channel, brought(first, { other: {}, 'question-1': 'no answer' }))).toEqual(first)
    const notAsked = { generation: 0, questions: {}, responses: { 'question-1': { roots: [] } } }
    expect(await call.round(channel, notAsked)).toEqual(first)
  })

  test('refuses an answer that was given to another question, and waits on', async () => {
    const { call, first } = await parked()
    const other = { generation: 0, questions: { 'question-1': 'other' }, responses: { 'question-1': {} } }
    await expect(call.round(channel, other)).rejects.toThrow('was given to another question')
    expect(await call.round(channel, brought(first, {}))).toEqual(first)
  })

  test('asks in one round what the server asks at once, and takes the answers one by one', async () => {
    const call = new ParkedCall('id', once)
    const first = await call.begin(channel, async ({ ask }) => ({
      answers: await Promise.all([ask(request), ask(request)]),
    }))
    expect(first).toMatchObject({
      requests: new Map([
        ['question-1', request],
        ['question-2', request],
      ]),
    })
    const second = await call.round(channel, brought(first, { 'question-2': { roots: ['b'] } }))
    expect(second).toMatchObject({ generation: 1, requests: new Map([['question-1', request]]) })
    const last = await call.round(channel, brought(second, { 'question-1': { roots: ['a'] } }))
    expect(last).toEqual({ kind: 'done', result: { answers: [{ roots: ['a'] }, { roots: ['b'] }] } })
  })

  test('refuses the questions of a server that asks too many at once, and the others wait on', async () => {
    const call = new ParkedCall('id', once)
    const refused: unknown[] = []
    const first = await call.begin(channel, async ({ ask }) => {
      await Promise.all(Array.from({ length: 102 }, () => ask(request).catch((error: unknown) => refused.push(error))))
      return {}
    })
    expect(first.kind === 'asked' && first.requests.size).toBe(100)
    const busy = expect.objectContaining({ reason: 'BACKEND_BUSY' })
    expect(refused).toEqual([busy, busy])
  })

  test('reports to the client of the round that is under way', async () => {
    const call = new ParkedCall('id', once)
    const seen: string[] = []
    const of = (round: number) => ({ ...channel, notify: (method: string) => void seen.push(`${round} ${method}`) })
    const first = await call.begin(of(1), async (way) => {
      way.notify('first', {})
      await way.ask(request)
      way.notify('second', {})
      return {}
    })
    await call.round(of(2), brought(first, { 'question-1': {} }))
    expect(seen).toEqual(['1 first', '2 second'])
  })

  test('is cancelled with the round in which its client leaves, and not by a round that is over', async () => {
    const call = new ParkedCall('id', once)
    const cancelled = vi.fn<() => void>()
    let leave = (): void => {}
    const leaving = { ...channel, onCancel: (listener: () => void) => void (leave = listener) }
    const first = await call.begin(leaving, async ({ ask, onCancel }) => {
      onCancel(cancelled)
      await ask(request)
      return new Promise(() => {})
    })
    leave()
    expect(cancelled).not.toHaveBeenCalled()
    const round = call.round(leaving, brought(first, { 'question-1': {} }))
    leave()
    expect(cancelled).toHaveBeenCalledOnce()
    await expect(round).rejects.toThrow(/got no answer to its question.* may have happened/)
    await expect(call.round(channel, brought(first, {}))).rejects.toThrow(
      /got no answer to its question.* may have happened/,
    )
  })

  test('goes on when a client that came again is there, although its first connection breaks', async () => {
    const call = new ParkedCall('id', once)
    const { promise, resolve } = Promise.withResolvers<Json>()
    const first = await call.begin(channel, async ({ ask }) => {
      await ask(request)
      return promise
    })
    let leave = (): void => {}
    const leaving = { ...channel, onCancel: (listener: () => void) => void (leave = listener) }
    const answer = brought(first, { 'question-1': {} })
    const rounds = [call.round(leaving, answer), call.round(channel, answer)]
    leave()
    resolve({ answers: [] })
    expect(await Promise.all(rounds)).toEqual(rounds.map(() => ({ kind: 'done', result: { answers: [] } })))
  })

  test('begins anew when its server ends, where it may, and asks only what was not answered', async () => {
    const call = new ParkedCall('id', { server: 'files', mayRepeat: () => true })
    const lost = Promise.withResolvers<never>()
    const other: InputRequest = { ...request, params: { _meta: { second: true } } }
    let begun = 0
    const first = await call.begin(channel, async ({ ask }) => {
      const dies = ++begun === 1 ? [lost.promise] : []
      const answer = await ask(request)
      return { answers: [answer, await Promise.race([ask(other), ...dies])], begun }
    })
    const second = await call.round(channel, brought(first, { 'question-1': { roots: ['a'] } }))
    lost.reject(new Error('It ended.'))
    await vi.waitFor(() => expect(begun).toBe(2))
    expect(await call.round(channel, brought(second, {}))).toEqual(second)
    const last = await call.round(channel, brought(second, { 'question-2': { roots: ['b'] } }))
    expect(last).toEqual({ kind: 'done', result: { answers: [{ roots: ['a'] }, { roots: ['b'] }], begun: 2 } })
  })

  test('does not begin anew when it was cancelled before that', async () => {
    const call = new ParkedCall('id', { server: 'files', mayRepeat: () => true })
    const lost = Promise.withResolvers<never>()
    let begun = 0
    await call.begin(channel, ({ ask }) => {
      begun++
      return Promise.race([lost.promise, ask(request)])
    })
    lost.reject(new Error('It ended.'))
    await lost.promise.catch(() => {})
    await Promise.resolve()
    call.cancel()
    await call.whenEnded()
    expect(begun).toBe(1)
  })

  test('takes an answer that comes while its server is gone', async () => {
    const call = new ParkedCall('id', { server: 'files', mayRepeat: () => true })
    const lost = Promise.withResolvers<never>()
    const back = Promise.withResolvers<void>()
    let begun = 0
    const first = await call.begin(channel, async ({ ask }) => {
      if (++begun === 1) return Promise.race([lost.promise, ask(request)])
      await back.promise
      return { answer: await ask(request) }
    })
    lost.reject(new Error('It ended.'))
    await vi.waitFor(() => expect(begun).toBe(2))
    const round = call.round(channel, brought(first, { 'question-1': { roots: ['a'] } }))
    back.resolve()
    expect(await round).toEqual({ kind: 'done', result: { answer: { roots: ['a'] } } })
  })

  test('ends with its server where it may not begin anew, and says that it was in the middle', async () => {
    const { call, first } = await parked()
    const gone = new BackendError('BACKEND_LOST', 'files', 'has closed its connection.')
    expect(call.isLost(gone)).toBe(true)
    expect(call.isLost(new Error('Other.'))).toBe(false)
    call.cancel()
    expect(call.isLost(gone)).toBe(false)
    await expect(call.round(channel, brought(first, {}))).resolves.toEqual(first)
  })

  test('goes on from the ticket of another process, with its answers by their questions', async () => {
    const other: InputRequest = { ...request, params: { _meta: { second: true } } }
    const answers = [[digestOf(other), { roots: ['b'] }] as const, [digestOf(request), { roots: ['a'] }] as const]
    const claimed = { from: 'another', generation: 4, answers }
    const call = new ParkedCall('id', { ...once, claimed })
    const asked = await call.begin(channel, async ({ ask }) => ({
      answers: [await ask(request), await ask(other), await ask(request)],
    }))
    expect(asked).toMatchObject({ generation: 5, requests: new Map([['question-1', request]]), answers })
    expect(await call.round(channel, { generation: 4, questions: {}, responses: {} })).toEqual(asked)
    const last = await call.round(channel, brought(asked, { 'question-1': { roots: ['c'] } }))
    expect(last).toMatchObject({ result: { answers: [{ roots: ['a'] }, { roots: ['b'] }, { roots: ['c'] }] } })
  })
})
