/** Calls of session-era clients that wait for an answer in a gateway that is stopped. */
import { expect, test } from 'vitest'
import { accept } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { call, CLIENTS, connectClient, modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'
import { sessionScript } from './fixtures/sessionScript.ts'
import { json, result, ScriptedServer } from './fixtures/statelessServers.ts'

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

test.each(CLIENTS)('the first round of a call of the client %s brings no answers', async (kind) => {
  const older = await sessionScript()
  const stateless = await new ScriptedServer().start()
  stateless.answer = ({ res, body }) => json(res, result(body, { content: [{ type: 'text', text: 'went' }] }))
  const { url } = await startGateway({ older: { url: older.url }, stateless: stateless.entry() })
  const client = await connectClient(kind, url)
  expect(await call(client, 'older_go')).toBe('went')
  expect(await call(client, 'stateless_thing')).toBe('went')
  const bodies = stateless.received.map(({ body }) => JSON.parse(body.toString()) as { method: string; params: object })
  const called = [...older.of('POST', 'tools/call').map(({ message }) => message), ...bodies]
  expect(called.map(({ method }) => method)).toEqual(['tools/call', 'tools/call'])
  for (const { params } of called) expect(params).not.toHaveProperty('inputResponses')
})
