/** Calls that wait for answers hold sessions, processes and requests of their server. Nobody takes the room of others so. */
import type { ServerOptions } from 'pannier/server'
import { expect, test } from 'vitest'
import { call, type Wire } from '../fixtures/modernClient.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { sessionServer, startGateway } from './fixtures/gateways.ts'
import { answered, textOf } from './fixtures/parkedRounds.ts'

const principal: NonNullable<ServerOptions['principal']> = async ({ header }) => ({ id: header('x-user') ?? 'nobody' })

async function startDesk(limits: object) {
  const { url: server } = await sessionServer(undefined, () => effectTools([]))
  const pannier = { state: 'stateful', startSeconds: 10, ...limits }
  const { url } = await startGateway({ desk: { url: server, pannier } }, { principal })
  return async (user: string, key: string, brought: Wire = {}): Promise<Wire> => {
    const params = { requestState: brought.requestState, inputResponses: brought.inputResponses }
    const { message } = await call(url, 'desk_book', { key }, { params, headers: { 'x-user': user } })
    return message.result ?? message.error
  }
}

test.each([
  ['sessions', { maxSessions: 4 }],
  ['requests', { maxInFlight: 4 }],
])(
  'where calls that wait use all %s of a server, the largest holder loses one to the next caller',
  async (_, limits) => {
    const at = await startDesk(limits)
    const oldest = await at('ann', 'a1')
    const others = [await at('ann', 'a2'), await at('bob', 'b1'), await at('bob', 'b2')]
    for (const asked of [oldest, ...others]) expect(asked).toHaveProperty('inputRequests')
    const carls = await at('carl', 'c1')
    expect(carls).toHaveProperty('inputRequests')
    const second = await at('carl', 'c1', answered(carls, 'Carl'))
    expect(textOf(await at('carl', 'c1', answered(second, 'Lee')))).toBe('Carl Lee')
    const lost = await Promise.all([
      at('ann', 'a1', answered(oldest, 'Ann')),
      at('ann', 'a2', answered(others[0], 'Ann')),
      at('bob', 'b1', answered(others[1], 'Bob')),
      at('bob', 'b2', answered(others[2], 'Bob')),
    ])
    const errors = lost.filter(({ code }) => code !== undefined)
    expect(errors).toMatchObject([{ data: { code: 'CALL_LOST', server: 'desk' } }])
    expect(errors[0].message).toMatch(/most of them of this caller, .* What it did until then may have happened/)
  },
)

test('nobody loses a call to a caller who would have as many', async () => {
  const at = await startDesk({ maxSessions: 2, startSeconds: 3 })
  const asked = [await at('ann', 'a1'), await at('bob', 'b1')]
  expect(await at('carl', 'c1')).toMatchObject({ data: { code: 'BACKEND_BUSY', server: 'desk' } })
  expect(await at('ann', 'a1', answered(asked[0], 'Ann'))).toHaveProperty('inputRequests')
  expect(await at('bob', 'b1', answered(asked[1], 'Bob'))).toHaveProperty('inputRequests')
})
