/** Calls of session-era clients that wait for an answer in a gateway that is stopped. */
import { expect, test } from 'vitest'
import { accept } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'

/** Two gateways that have met, and a session at the first of them. */
async function twoGateways(servers: object) {
  const [first, second] = [await startGateway(servers), await startGateway(servers)]
  const session = await RawSession.begin(first.url, { capabilities: { elicitation: {} } })
  session.url = second.url
  await session.request('ping')
  session.url = first.url
  return { first, second, session }
}

test('a call of a session-era server is answered where it is, by way of the other gateway, and never begun there', async () => {
  const effects: string[] = []
  const { url } = await sessionServer(undefined, () => effectTools(effects))
  const { first, second, session } = await twoGateways({ desk: { url, pannier: { state: 'stateful' } } })
  const stream = await session.call('desk_book', { key: 'k' })
  const asked = await stream.next()
  const drained = first.gateway.drain({ deadlineMs: 20_000 })
  session.url = second.url
  expect((await session.answer(asked, accept({ name: 'Ann' }))).status).toBe(202)
  const again = await stream.next()
  expect(again.params).toMatchObject({ message: 'Second?' })
  await session.answer(again, accept({ name: 'Lee' }))
  expect((await stream.rest()).at(-1)?.result).toMatchObject({ content: [{ text: 'Ann Lee' }] })
  await drained
  expect(effects).toEqual(['began k', 'done k'])
})

test('a call of a stateless server goes on at the other gateway, and nothing is asked twice', async () => {
  const ours = await modernServer()
  const { first, second, session } = await twoGateways({ ours: { url: ours.url } })
  const stream = await session.call('ours_confirm')
  const asked = await stream.next()
  expect(asked.params).toMatchObject({ message: 'Sure?' })
  await first.gateway.drain({ deadlineMs: 20_000 })
  session.url = second.url
  const resumed = await session.listen(stream.lastEventId)
  expect((await session.answer(asked, accept({ sure: true }))).status).toBe(202)
  const again = await resumed.next()
  expect(again.params).toMatchObject({ message: 'Really?' })
  await session.answer(again, accept({ sure: true }))
  expect((await resumed.rest()).at(-1)?.result).toMatchObject({ content: [{ text: 'accept true, accept true' }] })
})
