import type { ClientCapabilities } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import { type LinkCallers, ownRequest } from './link.ts'
import type { Presence, Relayed } from './relayed.ts'
import { answerTo, likelyCall, type OpenCalls } from './serverQuestions.ts'
import { WaitingRequest } from './waitingRequest.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const TIMEOUT_MS = 1000
const late = vi.fn()

function waiting(ask: Relayed['ask'], presence: Presence = 'here'): WaitingRequest {
  const peer = { capabilities: { elicitation: { form: {} } } }
  const relayed = { method: 'tools/call', params: {}, peer, ask, presence: () => presence } as unknown as Relayed
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
  const gone = waiting(async () => ({ action: 'decline' }), 'gone')
  const asked = waiting(async () => ({ action: 'decline' }), 'asked')
  const present = waiting(async () => ({ action: 'accept' }))
  expect(await ask(openCalls(gone, asked, present))).toEqual({ action: 'accept' })
  expect(likelyCall(openCalls(gone, asked)())).toBe(asked)
  expect(likelyCall(openCalls(gone)())).toBe(gone)
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

test('a question is asked in no call of somebody else when the one that it was asked in has ended', async () => {
  const ended = Promise.withResolvers<Json>()
  const first = waiting(() => ended.promise)
  const requests = [first]
  const other = vi.fn(async () => ({ action: 'accept' }))
  const answer = ask(() => ({ ...openCalls(...requests)(), callers: 'nameless' })).catch((error: unknown) => error)
  first.settle(() => ({}))
  requests.push(waiting(other))
  ended.reject(new Error('The call has ended.'))
  expect(await answer).toMatchObject({ message: 'The call has ended.' })
  expect(other).not.toHaveBeenCalled()
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

const FORMS = { elicitation: {} }

function waitingCall(capabilities: ClientCapabilities, canBeAsked = true): WaitingRequest {
  const request = ownRequest('tools/call', {})
  const ask = canBeAsked ? () => Promise.resolve({ action: 'accept' }) : undefined
  const relayed = { ...request, peer: { ...request.peer, capabilities }, ask, isEndless: true }
  return new WaitingRequest({ relayed, progressToken: undefined, timeoutMs: 0, onLate() {}, onSettled() {} })
}

function open(waiting: WaitingRequest[], callers: LinkCallers = 'one', hasLeftovers = false): OpenCalls {
  return { waiting, callers, hasLeftovers }
}

const form = { message: 'Really?', requestedSchema: { type: 'object', properties: {} } }

test('a question goes to the call that waits', async () => {
  expect(await answerTo('elicitation/create', form, () => open([waitingCall(FORMS)]))).toEqual({ action: 'accept' })
})

test.each<[string, OpenCalls, RegExp]>([
  ['no call is under way', open([]), /no call is under way\. Ask in the middle of a call/],
  ['a call was given up, and none is under way', open([], 'nameless', true), /no call is under way\./],
  ['several callers have calls', open([waitingCall(FORMS), waitingCall(FORMS)], 'all'), /calls of several callers/],
  ['of several callers, none declares it', open([waitingCall({}), waitingCall({})], 'all'), /: this needs a client/],
  [
    'several clients have calls',
    open([waitingCall(FORMS), waitingCall({})], 'nameless'),
    /several clients without a name/,
  ],
  ['a client has just left', open([waitingCall(FORMS)], 'nameless', true), /or were just given up/],
  ['the client declares nothing', open([waitingCall({})]), /: this needs a client that declares: elicitation\.form\.$/],
  ['the client takes no stream', open([waitingCall(FORMS, false)]), /has no stream on which it can be asked/],
])('a question that nobody can be asked is refused with the one reason that applies: %s', async (_, calls, reason) => {
  const refused = await answerTo('elicitation/create', form, () => calls).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: -32600, message: expect.stringMatching(reason) })
  expect((refused as Error).message).toMatch(/^Nobody can be asked: /)
})

test('a client that declares another kind is told what is missing', async () => {
  const calls = open([waitingCall(FORMS)])
  await expect(answerTo('sampling/createMessage', { messages: [] }, () => calls)).rejects.toMatchObject({
    message: 'Nobody can be asked: this needs a client that declares: sampling.',
    data: { requiredCapabilities: { sampling: {} } },
  })
})
