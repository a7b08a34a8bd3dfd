import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import type { Relayed } from './relayed.ts'
import { answerTo, likelyCall, type OpenCalls } from './serverQuestions.ts'
import { WaitingRequest } from './waitingRequest.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const TIMEOUT_MS = 1000
const late = vi.fn()

function waiting(ask: Relayed['ask'], isAttended = true): WaitingRequest {
  const peer = { capabilities: { elicitation: { form: {} } } }
  const relayed = { method: 'tools/call', params: {}, peer, ask, isAttended: () => isAttended } as unknown as Relayed
  const request = new WaitingRequest({
    relayed,
    progressToken: undefined,
    timeoutMs: TIMEOUT_MS,
    onLate: late,
    onSettled: () => {},
  })
  request.response.catch(() => {})
  return request
}

function openCalls(...requests: WaitingRequest[]): () => OpenCalls {
  return () => ({ waiting: requests.filter(({ isSettled }) => !isSettled), callers: 'one', hasLeftovers: false })
}

const ask = (calls: () => OpenCalls): Promise<Json> =>
  answerTo('elicitation/create', { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }, calls)

test('of several calls of one client, one is asked whose client is there', async () => {
  const absent = waiting(async () => ({ action: 'decline' }), false)
  const present = waiting(async () => ({ action: 'accept' }))
  expect(await ask(openCalls(absent, present))).toEqual({ action: 'accept' })
  expect(likelyCall(openCalls(absent)())).toBe(absent)
})

test('a question is asked in another call when the one that it was asked in has ended', async () => {
  const ended = Promise.withResolvers<Json>()
  const first = waiting(() => ended.promise)
  const second = waiting(async () => ({ action: 'accept' }))
  const answer = ask(openCalls(first, second))
  first.settle(() => ({}))
  ended.reject(new Error('The call has ended.'))
  expect(await answer).toEqual({ action: 'accept' })
})

test('a question that its client refuses is not asked in another call', async () => {
  const refusing = waiting(() => Promise.reject(new Error('No.')))
  const other = vi.fn(async () => ({}))
  await expect(ask(openCalls(refusing, waiting(other)))).rejects.toThrow('No.')
  expect(other).not.toHaveBeenCalled()
})

test('no call on the connection is late while somebody thinks about a question that any of them may have asked', async () => {
  const answer = Promise.withResolvers<Json>()
  const asked = ask(
    openCalls(
      waiting(() => answer.promise),
      waiting(undefined),
    ),
  )
  await vi.advanceTimersByTimeAsync(10 * TIMEOUT_MS)
  expect(late).not.toHaveBeenCalled()
  answer.resolve({ action: 'accept' })
  await asked
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
  expect(late).toHaveBeenCalledTimes(2)
})
