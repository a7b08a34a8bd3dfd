/** What a form of a handler may say, through a call of its tool. */
import { describe, expect, test } from 'vitest'
import { Caller } from '../../../test/docs/fixtures/caller.ts'
import { createServer, type Form, type Logger } from '../index.ts'

const schema = { type: 'object', properties: { yes: { type: 'boolean' } } } as const

/** What is asked with this form, or why it cannot be. */
async function asked(form: Partial<Form>): Promise<string> {
  const errors: string[] = []
  const error = (fields: { err?: { message?: string } }) => void errors.push(String(fields.err?.message))
  const logger = { debug() {}, info() {}, warn() {}, error } as unknown as Logger
  const server = createServer({ name: 'forms', version: '1', logger, principal: () => ({ id: 'ann' }) })
  server.tool('ask', { description: 'Asks.' }, async (_, ctx) => {
    await ctx.ask('sure', { message: 'Sure?', schema, ...form } as Form)
    return 'done'
  })
  const { result } = await new Caller(server.fetch).round('ask')
  return result.resultType === 'input_required' ? 'asked' : (errors[0] ?? JSON.stringify(result))
}

describe('who may answer', () => {
  test.each<[string, unknown, boolean]>([
    ['a name', 'role:manager', true],
    ['a name of 256 characters', 'r'.repeat(256), true],
    ['a longer name', 'r'.repeat(257), false],
    ['an empty name', '', false],
    ['32 names', Array.from({ length: 32 }, (_, n) => `role:${n}`), true],
    ['more names', Array.from({ length: 33 }, (_, n) => `role:${n}`), false],
    ['no names', [], false],
    ['a number', 7, false],
  ])('may be %s: %j', async (_, by, isAllowed) => {
    const outcome = await asked({ by: by as string })
    expect(outcome.includes('"by" must be a string')).toBe(!isAllowed)
  })

  test('is said where nobody may approve alone, and its answer is pinned', async () => {
    expect(await asked({ fourEyes: true })).toContain('does not say who may answer')
    expect(await asked({ by: 'role:manager', pin: false })).toContain('must be pinned')
  })
})

test('a form with an option that does not exist is not asked, and the nearest that exists is named', async () => {
  expect(await asked({ messages: 'Sure?' } as Partial<Form>)).toBe(
    'The form "Sure?" has no option "messages"; did you mean "message"?',
  )
})
