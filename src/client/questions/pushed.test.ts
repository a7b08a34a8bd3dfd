import { getEventListeners } from 'node:events'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { accept, call, done, form, inputRequired, layered } from '../../../test/client/fixtures/roundsClient.ts'
import type { Answerer, Asked } from './answerer.ts'
import { fixed } from '../answerers/builtin.ts'
import { suspend } from '../suspend/suspend.ts'

describe('a question that is pushed', () => {
  test('is answered by the answerer, under its id', async () => {
    const asked: Asked[] = []
    const { wire, above, last } = layered({ form: (question) => (asked.push(question), accept({ name: 'Ann' })) })
    await above.send(call(1))
    wire.say({ id: 'q1', ...form() })
    await settled()
    expect(last()).toEqual({ jsonrpc: '2.0', id: 'q1', result: accept({ name: 'Ann' }) })
    expect(asked).toMatchObject([{ key: 'q1', call: { method: 'tools/call', name: 'tool' } }])
    expect(above.heard).toEqual([])
  })

  test('is left to the client where the revision has none', async () => {
    const { wire, above } = layered()
    await above.send(call(1, { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }))
    wire.say({ id: 'q1', ...form() })
    await settled()
    expect(wire.sent).toHaveLength(1)
    expect(above.heard).toMatchObject([{ id: 'q1' }])
  })

  test('leaves nothing behind on the signal of the call', async () => {
    const adding = vi.spyOn(AbortSignal.prototype, 'addEventListener')
    onTestFinished(() => adding.mockRestore())
    const { wire, above, last } = layered({ form: () => accept() })
    await above.send(call(1))
    for (const id of ['q1', 'q2', 'q3']) wire.say({ id, ...form() })
    await settled()
    expect(last()).toMatchObject({ id: 'q3' })
    const listened = new Set(adding.mock.contexts as AbortSignal[])
    const counts = [...listened].map((signal) => getEventListeners(signal, 'abort').length)
    // Each question has a signal of its own, which goes with it.
    expect(counts.filter((count) => count > 1)).toEqual([])
  })

  test.each([
    ['q1', 'q1'],
    [7, '7'],
  ])('that is taken back gets no answer (%j, %j)', async (id, requestId) => {
    const { wire, above } = layered({ form: () => new Promise((resolve) => setTimeout(resolve, 20, accept())) })
    wire.say({ id, ...form() })
    wire.say({ method: 'notifications/cancelled', params: { requestId } })
    await new Promise((resolve) => setTimeout(resolve, 40))
    expect(wire.sent).toEqual([])
    expect(above.heard).toEqual([])
  })

  test.each<[string, Answerer, object]>([
    [
      'cannot be suspended',
      suspend({ target: 'a#b' }),
      { name: 'Suspend', message: expect.stringMatching(/cannot be suspended; the question was refused\. Answer it/) },
    ],
    [
      'whose answerer fails is refused',
      () => Promise.reject(new Error('the secret reason')),
      { message: 'the secret reason' },
    ],
    ['has no key to find an answer by', fixed({ name: {} }), { message: expect.stringMatching(/"otherwise"/) }],
  ])('%s, and the host hears why', async (_, answerer, fault) => {
    const { wire, above, last } = layered({ form: answerer })
    wire.say({ id: 'q1', ...form() })
    await settled()
    expect(last()).toEqual({ jsonrpc: '2.0', id: 'q1', error: { code: -1, message: 'The client did not answer.' } })
    expect(above.faults).toEqual([expect.objectContaining(fault)])
  })

  test('while several calls are under way does not say whose it is', async () => {
    const asked: Asked[] = []
    const { wire, above } = layered({ form: (question) => (asked.push(question), accept()) })
    await above.send(call(1))
    await above.send(call(2))
    wire.say({ id: 'q1', ...form() })
    await settled()
    expect(asked.map((each) => each.call)).toEqual([undefined])
  })

  test('under the id of one that is open takes its place', async () => {
    const asked: Asked[] = []
    const answers: ((given: object) => void)[] = []
    const { wire } = layered({
      form: (question) => {
        asked.push(question)
        return new Promise((resolve) => answers.push((given) => resolve(accept(given))))
      },
    })
    wire.say({ id: 'q1', ...form('first') })
    wire.say({ id: 'q1', ...form('second') })
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, false])
    answers[0]?.({ to: 'first' })
    answers[1]?.({ to: 'second' })
    await settled()
    expect(wire.sent).toEqual([{ jsonrpc: '2.0', id: 'q1', result: accept({ to: 'second' }) }])
  })

  test('beside a hundred others is refused, and nobody is asked', async () => {
    let asked = 0
    const { wire, above, last } = layered({ form: () => (asked++, new Promise(() => undefined)) })
    for (let id = 0; id <= 100; id++) wire.say({ id, ...form() })
    await settled()
    expect(asked).toBe(100)
    expect(wire.sent).toHaveLength(1)
    expect(last()).toMatchObject({ id: 100, error: { code: -1 } })
    expect(above.faults).toMatchObject([{ code: 'INPUT_TOO_LARGE' }])
  })
})

describe('a pushed question is withdrawn, and refused, when', () => {
  const waiting = () => {
    const asked: Asked[] = []
    const never = (question: Asked) => (asked.push(question), new Promise<never>(() => undefined))
    return { asked, ...layered({ form: never, roots: never }) }
  }
  const refused = { jsonrpc: '2.0', id: 'q1', error: { code: -1, message: 'The client did not answer.' } }

  test('its call has its answer', async () => {
    const { wire, above, asked, last } = waiting()
    await above.send(call(1))
    wire.say({ id: 'q1', ...form() })
    wire.say(done(1))
    await settled()
    expect(asked[0]?.signal.aborted).toBe(true)
    expect(last()).toEqual(refused)
    expect(above.faults).toEqual([])
  })

  test('its call is cancelled', async () => {
    const { wire, above, asked, last } = waiting()
    await above.send(call(1))
    wire.say({ id: 'q1', ...form() })
    await above.send({ method: 'notifications/cancelled', params: { requestId: 1 } })
    await settled()
    expect(asked[0]?.signal.aborted).toBe(true)
    expect(last()).toEqual(refused)
  })

  test('the last of the calls is over that it may belong to, in whatever round', async () => {
    const { wire, above, asked, last } = waiting()
    await above.send(call(1))
    await above.send(call(2))
    wire.say({ id: 'q1', ...form() })
    await above.send(call(3))
    wire.say(done(1))
    wire.say(inputRequired(2, { requestState: 's' }))
    await settled()
    expect(asked[0]?.signal.aborted).toBe(false)
    wire.say(done(last().id))
    await settled()
    expect(asked[0]?.signal.aborted).toBe(true)
    expect(last()).toEqual(refused)
  })

  test('but not one for folders, which servers ask at any time', async () => {
    const { wire, above, asked } = waiting()
    await above.send(call(1))
    wire.say({ id: 'q1', method: 'roots/list' })
    wire.say(done(1))
    await settled()
    expect(asked[0]?.signal.aborted).toBe(false)
  })
})
