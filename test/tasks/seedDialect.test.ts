/** The persistent workflow of SEP-2322, message by message, toward a session-era client that declared rounds. */
import { describe, expect, test } from 'vitest'
import { type Incoming, MessageStream } from '../interop/fixtures/messageStream.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { proves } from '../proves.ts'
import { listening, offerEcho, type TaskServerOptions, taskServer } from './fixtures/echoServer.ts'
import sep from '../../examples/documents/sep2322.json' with { type: 'json' }

const ROUNDS = { elicitation: {}, experimental: { 'dev.pannier/rounds': {} } }

type Message = Record<string, unknown> & { id: number; method: string; params: Record<string, unknown> }

async function begin(options: TaskServerOptions = {}): Promise<RawSession> {
  return RawSession.begin(await listening(offerEcho(taskServer(options))), { capabilities: ROUNDS })
}

async function send(session: RawSession, message: object): Promise<Incoming> {
  const stream = new MessageStream(await session.send(message), new AbortController())
  return (await stream.rest()).at(-1) as Incoming
}

/** The SEP's message about our task. */
function about(taskId: string, message: unknown): Message {
  return JSON.parse(JSON.stringify(message).replaceAll(/echo_[0-9a-f-]{36}/g, taskId)) as Message
}

const TIME = /"\d{4}-\d\d-\d\dT[\d:.]+Z"/g

/** An answer without what the SEP leaves open: times; and `_meta` beside the result stands inside it. */
function comparable(answer: unknown): unknown {
  const { _meta, ...message } = JSON.parse(JSON.stringify(answer).replaceAll(TIME, '"time"')) as Record<string, unknown>
  const { result } = message as { result: Record<string, unknown> }
  return _meta === undefined ? message : { ...message, result: { ...result, _meta } }
}

async function created(session: RawSession): Promise<{ taskId: string; answer: Incoming }> {
  const answer = await send(session, sep.echo[0]!.request)
  return { taskId: (answer.result!['task'] as { taskId: string }).taskId, answer }
}

/** Asks as the SEP's client does, until the status is the wanted one. */
async function poll(session: RawSession, request: Message, status: string): Promise<Incoming> {
  for (;;) {
    const answer = await send(session, request)
    if (answer.result?.['status'] === status) return answer
    expect(answer.result?.['status']).toBe('working')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

describe('the echo example', () => {
  proves(
    'MRTR-6 MRTR-28 MRTR-29 MRTR-33 MRTR-34 MRTR-35 MRTR-36',
    'its twelve messages are what SEP-2322 prints',
    async () => {
      const session = await begin()
      const { taskId, answer } = await created(session)
      expect(comparable(answer)).toEqual(comparable(about(taskId, sep.echo[0]!.answer)))
      for (const exchange of sep.echo.slice(1)) {
        const request = about(taskId, exchange.request)
        const expected = about(taskId, exchange.answer) as unknown as Incoming
        const status = expected.result?.['status']
        const got = await (typeof status === 'string' ? poll(session, request, status) : send(session, request))
        expect(comparable(got)).toEqual(comparable(expected))
      }
    },
  )

  proves('MRTR-44', 'an answer without what was asked is acknowledged, and the task asks again', async () => {
    const session = await begin()
    const { taskId } = await created(session)
    await poll(session, about(taskId, sep.echo[1]!.request), 'input_required')
    const { request, answer } = sep.echoWrongField[0]!
    expect(comparable(await send(session, about(taskId, request)))).toEqual(comparable(about(taskId, answer)))
    const status = await send(session, about(taskId, sep.echo[1]!.request))
    expect(status.result?.['status']).toBe('input_required')
    const again = await send(session, about(taskId, sep.echo[2]!.request))
    const asked = Object.entries(again.result?.['inputRequests'] as Record<string, { params: object }>)
    expect(asked).toHaveLength(1)
    // The same key, as in the document. In the stateless era, whose extension forbids that, the key is a new one.
    expect(asked).toEqual(Object.entries((sep.echo[2]!.answer.result as { inputRequests: object }).inputRequests))
    await send(session, about(taskId, sep.echo[3]!.request))
    await poll(session, about(taskId, sep.echo[4]!.request), 'completed')
    const done = await send(session, about(taskId, sep.echo[5]!.request))
    expect(comparable(done)).toEqual(comparable(about(taskId, sep.echo[5]!.answer)))
  })
})

describe('toward a client that declared rounds', () => {
  test('tasks/result waits while the task works', async () => {
    const server = taskServer()
    let finish: () => void = () => {}
    const finished = new Promise<void>((resolve) => (finish = resolve))
    server.tool('slow', { description: 'Waits.', task: 'required' }, async () => {
      await finished
      return 'done'
    })
    const session = await RawSession.begin(await listening(server), { capabilities: ROUNDS })
    const task = await session.request('tools/call', { name: 'slow', arguments: {}, task: {} })
    const { taskId, ttl } = task.result!['task'] as { taskId: string; ttl: number | null }
    expect(ttl).toBeNull()
    let isAnswered = false
    const waiting = session.request('tasks/result', { taskId }).finally(() => (isAnswered = true))
    // Each later request is answered.
    for (let turn = 0; turn < 5; turn++) {
      expect((await session.request('tasks/get', { taskId })).result).toMatchObject({ status: 'working' })
    }
    expect(isAnswered).toBe(false)
    finish()
    expect((await waiting).result).toMatchObject({ content: [{ text: 'done' }] })
  })

  test.each([
    ['answers to a task that asks nothing', { inputResponses: {} }, 'no open questions'],
    ['answers that are no object', { inputResponses: 5 }, 'must be an object'],
    ['no answers at all', {}, 'must be an object'],
  ])('%s are refused', async (_, params, sentence) => {
    const server = taskServer()
    server.tool('idle', { description: 'Ends at once.', task: 'required' }, () => 'done')
    const session = await RawSession.begin(await listening(server), { capabilities: ROUNDS })
    const task = await session.request('tools/call', { name: 'idle', arguments: {}, task: {} })
    const { taskId } = task.result!['task'] as { taskId: string }
    await session.request('tasks/result', { taskId })
    const _meta = { 'io.modelcontextprotocol/related-task': { taskId } }
    const answer = await session.request('tasks/input_response', { ...params, _meta })
    expect(answer.error).toMatchObject({ code: -32602, message: expect.stringContaining(sentence) })
  })

  test.each([0, -1, 1.5, '60000', true])('a ttl of %j is refused', async (ttl) => {
    const session = await begin()
    const answer = await session.request('tools/call', { name: 'echo', task: { ttl } })
    expect(answer.error).toMatchObject({ code: -32602, message: expect.stringContaining('ttl') })
  })
})
