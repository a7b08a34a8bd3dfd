/** Questions that a model may answer, by a tool, where its client cannot show them. */
import type { Server } from 'pannier/server'
import { newKey } from 'pannier/state'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ENGINES, type EngineName, instancesOver } from '../tasks/fixtures/engines.ts'
import { ASKLESS, askless, byName, principalOf, textOf, type ToolResult, waitingIn } from './fixtures/askless.ts'

const unit = z.object({ unit: z.enum(['metre', 'foot']) })
const sure = z.object({ sure: z.boolean() })

function offer(server: Server): Server {
  server.tool('measure', { description: 'Measures.' }, async (_, ctx) => {
    const { unit: chosen } = await ctx.ask('unit', { message: 'Which unit?', schema: unit, askModel: true })
    return `in ${chosen}, says ${ctx.answeredBy('unit')?.subject ?? 'nobody with a name'}`
  })
  server.tool('erase', { description: 'Erases.' }, async (_, ctx) => {
    const { sure: isSure } = await ctx.ask('sure', { message: 'Erase all?', schema: sure })
    return isSure ? 'erased' : 'kept'
  })
  server.tool('pay', { description: 'Pays.' }, async (_, ctx) => {
    const { sure: isSure } = await ctx.ask('sure', { message: 'Pay?', schema: sure, by: 'sub:ann', askModel: true })
    return isSure ? 'paid' : 'not paid'
  })
  return server
}

async function serve(engine: EngineName = 'SQLite'): Promise<readonly Server[]> {
  const options = { questions: { askModel: true }, principal: byName, keys: newKey() }
  return (await instancesOver(engine, 2, {}, options)).map(offer)
}

const urlOf = async (server: Server): Promise<string> => (await server.listen({ drainOnTerm: false })).url
const questionIn = (result: ToolResult): string => waitingIn(result).questions[0]?.id ?? ''

describe.each(ENGINES)('over %s', (engine) => {
  test.each(ASKLESS)(
    'the model of %s reads how to answer, answers at another instance, and gets the result',
    async (kind) => {
      const [first, other] = await Promise.all((await serve(engine)).map(urlOf))
      const client = await askless(kind, first!, 'ann')
      expect(await client.tools()).toContain('answer_question')
      const waiting = await client.call('measure')
      const question = questionIn(waiting)
      expect(textOf(waiting)).toContain(
        `You may answer it yourself: call the tool answer_question with {"question":"${question}","content":{…}}. The content fits this schema: {"type":"object","properties":{"unit":`,
      )
      const elsewhere = await askless(kind, other!, 'ann')
      const unfit = await elsewhere.call('answer_question', { question, content: { unit: 'mile' } })
      expect([unfit.isError, textOf(unfit)]).toEqual([true, expect.stringContaining('The answer does not fit:')])
      const answered = await elsewhere.call('answer_question', { question, content: { unit: 'foot' } })
      expect([answered.isError, textOf(answered)]).toEqual([undefined, 'in foot, says ann'])
    },
  )
})

test('the record says that the model answered for its caller', async () => {
  const [server] = await serve()
  const client = await askless('SDK v2', await urlOf(server!), 'ann')
  const question = questionIn(await client.call('measure'))
  const open = await server!.questions.open({ for: principalOf('ann') })
  expect(open.questions).toMatchObject([{ id: question, askModel: true }])
  await client.call('answer_question', { question, decline: true })
  const known = await server!.questions.find(question, principalOf('ann'))
  expect(known?.outcome).toMatchObject({ state: 'declined', way: 'model', by: { subject: 'ann' } })
})

describe('the model cannot answer', () => {
  test.each([
    ['erase', undefined],
    ['pay', 'sub:ann'],
  ])('the question of %s, which is for a person', async (tool, by) => {
    const [server] = await serve()
    const url = await urlOf(server!)
    const client = await askless('SDK v2', url, by === undefined ? 'ann' : 'bob')
    const waiting = await client.call(tool)
    const question = questionIn(waiting)
    expect(textOf(waiting)).not.toContain('answer_question')
    for (const name of ['ann', 'bob']) {
      const caller = await askless('SDK v1', url, name)
      const answered = await caller.call('answer_question', { question, content: { sure: true } })
      expect(textOf(answered)).toMatch(/^A person answers this question|^This question is not open for this caller/)
    }
    const known = await server!.questions.find(question, principalOf('ann'))
    expect(known?.outcome.state).toBe('open')
  })

  test('the question of another caller, and one that was answered', async () => {
    const [server] = await serve()
    const url = await urlOf(server!)
    const ann = await askless('SDK v2', url, 'ann')
    const question = questionIn(await ann.call('measure'))
    const answer = { question, content: { unit: 'foot' } }
    for (const name of ['bob', undefined]) {
      const stolen = await (await askless('SDK v2', url, name)).call('answer_question', answer)
      expect([stolen.isError, textOf(stolen)]).toEqual([
        true,
        expect.stringContaining('No call waits under this ticket.'),
      ])
    }
    await ann.call('answer_question', answer)
    const late = await ann.call('answer_question', { question, content: { unit: 'metre' } })
    expect(textOf(late)).toBe(
      'This question is not open for this caller: it was answered, is for others, or its time is over.\nin foot, says ann',
    )
  })

  test('anything where the server does not let it', async () => {
    const [server] = await instancesOver('SQLite', 1, {}, { questions: true, principal: byName, keys: newKey() })
    const client = await askless('SDK v2', await urlOf(offer(server!)), 'ann')
    expect(await client.tools()).not.toContain('answer_question')
    expect(textOf(await client.call('measure'))).not.toContain('yourself')
  })
})
