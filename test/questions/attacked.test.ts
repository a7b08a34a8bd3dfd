/** What one caller, or one answer that comes late, can do to the questions of others. */
import type { ServerOptions } from 'pannier/server'
import { newKey } from 'pannier/state'
import { sqliteTasks } from 'pannier/tasks'
import { describe, expect, test } from 'vitest'
import { ENGINES, instancesOver } from '../tasks/fixtures/engines.ts'
import { storePath, taskServer } from '../tasks/fixtures/echoServer.ts'
import {
  askless,
  byName,
  type Done,
  offerAsking,
  principalOf,
  textOf,
  type ToolResult,
  waitingIn,
} from './fixtures/askless.ts'

const MOST = 5
const DAY_MS = 86_400_000
const yes = { method: 'POST', body: new URLSearchParams({ action: 'accept', 'field.sure': 'yes' }) }

describe.each(ENGINES)('over %s', (engine) => {
  test('a caller with as many open questions as are allowed gets no more, and others are served', async () => {
    const options = { questions: true, principal: byName, keys: newKey() }
    const [server] = await instancesOver(engine, 1, { maxTasksPerCaller: MOST }, options)
    offerAsking(server!, { charged: 0, deleted: [] })
    const { url } = await server!.listen({ drainOnTerm: false })
    const ann = await askless('SDK v2', url, 'ann')
    const ask = (amount: number): Promise<ToolResult> => ann.call('refund', { cents: amount })
    const asked: ToolResult[] = []
    for (let amount = 1; amount <= MOST; amount++) asked.push(await ask(amount))
    expect(new Set(asked.map((result) => waitingIn(result).ticket)).size).toBe(MOST)
    await expect(ask(MOST + 1)).rejects.toThrow(`This caller has ${MOST} unfinished tasks, which is the limit`)
    const bob = await askless('SDK v2', url, 'bob')
    const question = waitingIn(await bob.call('refund', { cents: 1 })).questions[0]!
    const { questions } = await server!.questions.open({ for: principalOf('mia') })
    expect(questions.map(({ caller }) => caller)).toEqual([...asked.map(() => 'ann'), 'bob'])
    await server!.questions.answer(question.id, { approve: true }, principalOf('mia'))
    expect(textOf(await bob.call('refund', { cents: 1 }))).toBe('1 cents, approved by mia')
    // An answer makes room again.
    await server!.questions.answer(questions[0]!.id, 'decline', principalOf('mia'))
    await ann.call('continue_call', { ticket: waitingIn(asked[0]!).ticket })
    expect(waitingIn(await ask(MOST + 1)).questions).toHaveLength(1)
  })
})

test('after a week a question is over, later its call is forgotten, and after a year its link is: each says so', async () => {
  let aheadMs = 0
  const clock = (): number => Date.now() + aheadMs
  const tasks = sqliteTasks({ path: storePath(), clock, pollMs: 100 })
  const options: Partial<ServerOptions> = { questions: true, principal: byName, keys: newKey(), clock, tasks }
  const done: Done = { charged: 0, deleted: [] }
  const server = offerAsking(taskServer(options), done)
  const client = await askless('SDK v2', (await server.listen({ drainOnTerm: false })).url, 'ann')
  const { ticket, questions } = waitingIn(await client.call('delete_branch', { branch: 'old' }))
  const { id, url = '' } = questions[0]!
  const state = async () => (await server.questions.find(id, principalOf('ann')))?.outcome.state

  aheadMs = 8 * DAY_MS
  await expect.poll(state, { timeout: 20_000 }).toBe('expired')
  const late = await fetch(url, yes)
  expect([late.status, await late.text()]).toEqual([410, expect.stringContaining('There was no answer in time')])
  expect(textOf(await client.call('continue_call', { ticket }))).toBe('There was no answer in time.')

  const laterState = (): ReturnType<typeof state> => {
    aheadMs += 365 * DAY_MS
    return state()
  }
  await expect.poll(laterState, { timeout: 30_000, interval: 500 }).toBe(undefined)
  expect([(await fetch(url, yes)).status, (await fetch(url)).status]).toEqual([404, 404])
  expect(textOf(await client.call('continue_call', { ticket }))).toContain('its time is over: make the call again')
  expect(done.deleted).toEqual([])
  const again = waitingIn(await client.call('delete_branch', { branch: 'old' }))
  expect((await fetch(again.questions[0]?.url ?? '', yes)).status).toBe(200)
  expect(textOf(await client.call('continue_call', { ticket: again.ticket }))).toBe('old is deleted')
})
