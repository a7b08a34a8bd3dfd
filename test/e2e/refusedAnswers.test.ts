/** Answers that do not fit their questions, and questions that no answer fits. */
import { createServer } from 'pannier/server'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Wire } from '../fixtures/modernClient.ts'
import { ERAS } from './fixtures/bothEras.ts'
import { recordedLog } from './fixtures/recordedLog.ts'

const { logger, lines } = recordedLog()
const server = createServer({ name: 'refused-answers', version: '1.0.0', logger })
const guests = z.object({ guests: z.number().max(12, 'We have twelve chairs.') })
let url: string

server.tool('book', { description: 'Asks for a number.' }, async (_, ctx) => {
  const answer = await ctx.ask('guests', { message: 'How many?', schema: guests })
  return `For ${answer.guests}.`
})
let runs = 0
server.tool('restless', { description: 'Asks something else each time.' }, async (_, ctx) => {
  const answer = await ctx.ask('guests', { message: `How many, for the ${++runs}th time?`, schema: guests })
  return `For ${answer.guests}.`
})

beforeAll(async () => {
  ;({ url } = await server.listen())
})
beforeEach(() => {
  lines.length = 0
})
afterAll(() => server.drain({ deadlineMs: 0 }))

const accept = (content: object) => ({ action: 'accept', content })
const refusals = () => lines.filter(({ message }) => message.startsWith('An answer did not fit'))

describe.each(ERAS)('at $revision', ({ call }) => {
  test('the person who answers again reads what was wrong, in the words of the schema', async () => {
    const { asked, result } = await call(url, 'book', [
      accept({ guests: 40 }),
      accept({ guests: 'many' }),
      accept({ guests: 4 }),
    ])
    expect(result).toMatchObject({ content: [{ text: 'For 4.' }] })
    expect(asked).toEqual([
      'How many?',
      'How many?\n\nThe last answer was not accepted: guests: We have twelve chairs.',
      expect.stringMatching(/^How many\?\n\nThe last answer was not accepted: guests: Invalid input/),
    ])
  })

  test('the operator reads that it happened, and not what was answered', async () => {
    await call(url, 'book', [accept({ guests: 'secret 123' }), accept({ guests: 4 })])
    expect(refusals()).toEqual([
      { level: 'info', fields: { method: 'tools/call', name: 'book', key: 'guests' }, message: expect.any(String) },
    ])
    expect(JSON.stringify(lines)).not.toContain('secret 123')
  })
})

test('a question whose text changes in each round is in the log at its second change, and ends the call', async () => {
  const [modern] = ERAS
  const stop = accept({ guests: 1 })
  const changing = (): Wire[] => lines.filter(({ message }) => message.includes('another text or key in each round'))
  const { result, asked } = await modern!.call(url, 'restless', [stop])
  expect(asked.length).toBe(5)
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('from ctx.step') }] })
  expect(changing()).toMatchObject([{ level: 'warn', fields: { name: 'restless', key: 'guests' } }])
})
