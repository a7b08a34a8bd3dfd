/** Where the journal of a call is when its question is out. */
import { expect, test } from 'vitest'
import { Caller } from '../../../test/docs/fixtures/caller.ts'
import { type CarryStore, memoryCarryStore } from '../../state/index.ts'
import { createServer, type ServerOptions } from '../index.ts'

const schema = { type: 'object', properties: { yes: { type: 'boolean' } } } as const

/** A tool that asks, over a store that takes a moment. */
function begin(carry: NonNullable<ServerOptions['carry']>, put?: CarryStore['put']) {
  const warned: string[] = []
  const memory = memoryCarryStore()
  const written: { id: string; expiresAt: number }[] = []
  const store: CarryStore = {
    ...memory,
    put: async (id, token, expiresAt) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      await (put ?? memory.put)(id, token, expiresAt)
      written.push({ id, expiresAt })
    },
  }
  const warn = (_: object, text: string) => void warned.push(text)
  const logger = { debug() {}, info() {}, warn, error() {} }
  const clock = () => 1_000_000_500
  const server = createServer({ name: 'carried', version: '1', logger, carry, store, ttlSeconds: 60, clock })
  server.tool('ask', { description: 'Asks.' }, async (_, ctx) => {
    await ctx.ask('sure', { message: 'Sure?', schema })
    return 'done'
  })
  return { caller: new Caller(server.fetch), written, warned }
}

test.each(['store', 'both', 'client-first'] as const)(
  'with %s the state is in the store when the question is out, until its time is over',
  async (carry) => {
    const { caller, written } = begin(carry)
    const { result } = await caller.round('ask')
    expect(result.resultType).toBe('input_required')
    expect(written).toEqual([{ id: expect.stringMatching(/\.1$/), expiresAt: 1_000_001 + 60 }])
  },
)

test('with the client alone nothing is stored', async () => {
  const { caller, written } = begin('client')
  expect((await caller.round('ask')).result.resultType).toBe('input_required')
  expect(written).toEqual([])
})

test('a store that is away is only warned of where the client has the state as well', async () => {
  const away = () => Promise.reject(new Error('away'))
  const both = begin('both', away)
  expect((await both.caller.round('ask')).result.resultType).toBe('input_required')
  expect(both.warned).toContain('The store could not save a state; only the client has it.')
  const alone = begin('store', away)
  expect((await alone.caller.round('ask')).error).toMatchObject({ code: -32603 })
})
