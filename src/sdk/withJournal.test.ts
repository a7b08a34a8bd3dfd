/** Tools of an official SDK server that ask, step and use once, called by the official client in both eras. */
import { withJournal } from 'pannier/sdk'
import { type Ledger, memoryLedger } from 'pannier/state'
import { afterEach, describe, expect, test } from 'vitest'
import { proves } from '../../test/proves.ts'
import { connect, send } from '../../test/sdk/fixtures/clients.ts'
import { accept, call, done, start, stateOf, stopAll } from '../../test/sdk/fixtures/releases.ts'

const answers = (message: string) => (message.includes('day') ? accept({ day: 'tue' }) : accept({ ok: true }))

afterEach(stopAll)

describe('toward 2026-07-28', () => {
  proves(
    'MRTR-47',
    'an SDK tool that asks twice completes though each round reaches another instance, and does each thing once',
    async () => {
      const client = await connect('modern', [await start(), await start(), await start()], { answer: answers })
      const result = await client.callTool(call)
      expect(result.content).toEqual([{ type: 'text', text: 'prod on tue, number' }])
      expect(done).toEqual(['entered', 'entered', 'built', 'entered', 'released'])
      await client.close()
    },
  )

  proves('ST-17', 'only the SDK tools that have something to remember send state', async () => {
    const host = await start()
    expect((await send(host, { name: 'plain' })).result).toMatchObject({
      resultType: 'complete',
      content: [{ text: 'Plain.' }],
    })
    expect(stateOf(await send(host, { name: 'plain' }))).toBe('')
    expect(stateOf(await send(host, call))).not.toBe('')
  })

  test('asks started together go out in one round, and every kind of question is answered', async () => {
    const client = await connect('modern', [await start(), await start()], { answer: () => accept({ ok: true }) })
    const first = await send(await start(), { name: 'all' })
    expect(Object.keys(first.result?.inputRequests ?? {})).toEqual(['a', 'b'])
    const { content } = await client.callTool({ name: 'all' })
    expect(content).toEqual([
      {
        type: 'text',
        text: JSON.stringify([true, true, 'accept', { type: 'text', text: 'Hi.' }, 'file:///here', 'tools/call']),
      },
    ])
    await client.close()
  })

  test('a client that did not declare elicitation gets -32021 with what is missing', async () => {
    const client = await connect('modern', [await start()], { capabilities: {} })
    await expect(client.callTool(call)).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    })
    await client.close()
  })

  test('a call that is older than maxCallSeconds ends, so that it cannot outlive its claims, however often it is renewed', async () => {
    let now = Date.now()
    const claimed: number[] = []
    const kept = memoryLedger()
    const ledger: Ledger = {
      claim: (id, ttlSeconds) => {
        claimed.push(ttlSeconds)
        return kept.claim(id, ttlSeconds)
      },
      settle: (id, value) => kept.settle(id, value),
      release: (id) => kept.release(id),
    }
    const host = await start({ clock: () => now, maxCallSeconds: 100, ledger })
    const first = await send(host, call)
    now += 50_000
    const unfit = { inputResponses: { ok: accept({ ok: 'perhaps' }) } }
    const second = await send(host, { ...call, ...unfit, requestState: stateOf(first) })
    now += 40_000
    const fit = { inputResponses: { ok: accept({ ok: true }) } }
    const third = await send(host, { ...call, ...fit, requestState: stateOf(second) })
    const last = { ...call, inputResponses: { day: accept({ day: 'tue' }) }, requestState: stateOf(third) }
    now += 20_000
    expect((await send(host, last)).result).toMatchObject({ isError: true })
    expect(claimed).toEqual([])
    now -= 20_000
    expect((await send(host, last)).result).toMatchObject({ content: [{ text: 'prod on tue, number' }] })
    expect(claimed).toEqual([200])
  })

  test('a call that asks in more than maxRounds rounds fails', async () => {
    const host = await start({ maxRounds: 2 })
    const first = await send(host, call)
    const fit = { inputResponses: { ok: accept({ ok: true }) } }
    const second = await send(host, { ...call, ...fit, requestState: stateOf(first) })
    expect(second.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('after 2 rounds') }],
    })
  })

  test('an answer that does not fit its form is asked for again, a bounded number of times', async () => {
    const host = await start({ maxAsks: 2 })
    const first = await send(host, call)
    const unfit = { inputResponses: { ok: accept({ ok: 'perhaps' }) } }
    const second = await send(host, { ...call, ...unfit, requestState: stateOf(first) })
    expect(second.result?.inputRequests).toMatchObject({
      ok: { params: { message: expect.stringMatching(/^Deploy to prod\?\n\nThe last answer was not accepted: ok: /) } },
    })
    const third = await send(host, { ...call, ...unfit, requestState: stateOf(second) })
    expect(third.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('asked 2 times') }] })
  })

  test('a round that is sent twice repeats its step and not its once', async () => {
    const host = await start()
    const first = await send(host, call)
    const second = { ...call, requestState: stateOf(first), inputResponses: { ok: accept({ ok: true }) } }
    await send(host, second)
    const answered = await send(host, second)
    const third = { ...call, requestState: stateOf(answered), inputResponses: { day: accept({ day: 'mon' }) } }
    const results = [await send(host, third), await send(await start(), third)]
    expect(results.map(({ result }) => result?.content?.[0]?.text)).toEqual([
      'prod on mon, number',
      'prod on mon, number',
    ])
    expect(done.filter((what) => what !== 'entered')).toEqual(['built', 'built', 'released'])
  })

  test('a draining instance hands the call on at its checkpoint, and another one goes on from there', async () => {
    const draining = await start({ draining: () => true })
    const handed = await send(draining, { name: 'hand_over' })
    expect(handed.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
    expect(handed.result?.inputRequests).toBeUndefined()
    const went = await send(await start(), { name: 'hand_over', requestState: stateOf(handed) })
    expect(went.result?.content?.[0]?.text).toBe('After 1.')
  })
})

describe('toward the session era', () => {
  proves('MRTR-46', 'the same SDK tool asks in place, on the stream of its request, and is entered once', async () => {
    const client = await connect('legacy', [await start()], { answer: answers })
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
    expect((await client.callTool(call)).content).toEqual([{ type: 'text', text: 'prod on tue, number' }])
    expect(done).toEqual(['entered', 'built', 'released'])
    await client.close()
  })

  test('every kind of question is answered in place, and a checkpoint of a draining instance is passed', async () => {
    const client = await connect('legacy', [await start({ draining: () => true })], {
      answer: () => accept({ ok: true }),
    })
    const { content } = await client.callTool({ name: 'all' })
    expect(content).toEqual([
      {
        type: 'text',
        text: JSON.stringify([true, true, 'accept', { type: 'text', text: 'Hi.' }, 'file:///here', 'tools/call']),
      },
    ])
    await client.close()
  })

  test('an answer that does not fit its form is asked for again', async () => {
    const said: string[] = []
    const answer = (message: string) => {
      said.push(message)
      if (message.includes('day')) return accept({ day: said.length > 2 ? 'tue' : 'sunday' })
      return accept({ ok: true })
    }
    const client = await connect('legacy', [await start()], { answer })
    expect((await client.callTool(call)).content).toEqual([{ type: 'text', text: 'prod on tue, number' }])
    expect(said).toEqual(['Deploy to prod?', 'On which day?', 'On which day?'])
    await client.close()
  })

  test('a client that did not declare elicitation is not asked, and the model is told', async () => {
    const client = await connect('legacy', [await start()], { capabilities: {} })
    expect(await client.callTool(call)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('elicitation') }],
    })
    await client.close()
  })
})

test.each(['modern', 'legacy'] as const)('a decline that nobody catches is a result with isError (%s)', async (era) => {
  const client = await connect(era, [await start()], { answer: () => ({ action: 'decline' }) })
  expect(await client.callTool(call)).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: 'The question "ok" was declined.' }],
  })
  await client.close()
})

test('a handler that does not unwind is left behind, and that is said', async () => {
  const lines: unknown[] = []
  const note = (details: object, message: string) => void lines.push([details, message])
  const host = await start({ unwindMs: 5, logger: { debug: note, info: note, warn: note, error: note } })
  const { result } = await send(host, { name: 'hang' })
  expect(result?.inputRequests).toHaveProperty('ok')
  expect(lines).toEqual([[{ tool: 'hang' }, expect.stringContaining('did not return')]])
})

test('a codec that somebody else made is refused at once', () => {
  const state = { mint: async () => '', verify: async () => undefined }
  expect(() => withJournal({ state })).toThrow('requestStateCodec')
})
