/** A call outlives the process that began it. Real processes, one key ring, and SIGKILL. */
import { afterEach, expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { type Program, startProgram } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'

const capabilities = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }
const item = { workItemId: 4522, fields: { 'System.State': 'Resolved' } }
const accept = (content: object) => ({ action: 'accept', content })
const DONE = {
  id: 1,
  result: {
    content: [
      { text: 'Bug #4522 resolved as Duplicate of Bug #4301. State set to Resolved and duplicate link created.' },
    ],
  },
}

const LOST = { id: 1, error: { message: expect.stringContaining('may have had effects') } }

const programs: Program[] = []

afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.kill()))
})

async function start(count: number): Promise<Program[]> {
  programs.push(...(await Promise.all(Array.from({ length: count }, () => startProgram()))))
  return programs
}

proves('ST-3 ST-21', 'a call whose process is killed at its second question completes at another', async () => {
  const [one, two] = (await start(2)) as [Program, Program]
  const session = await RawSession.begin(one.url, { capabilities })
  const call = await session.call('update_work_item', item)
  const resolution = await call.next()
  await session.answer(resolution, accept({ resolution: 'Duplicate' }), { state: resolution.state })
  const duplicateOf = await call.next()
  expect(duplicateOf.params).toMatchObject({ message: 'Since this is a duplicate, which work item is the original?' })
  await one.kill()
  await expect(call.next()).rejects.toThrow()

  session.url = two.url
  const resumed = await session.listen(call.lastEventId)
  await session.answer(duplicateOf, accept({ duplicateOfId: 4301 }), { state: duplicateOf.state })
  expect(await resumed.rest()).toMatchObject([DONE])
})

proves('ST-20 ST-21', 'each of two questions may outlive its process: three processes serve one call', async () => {
  const [one, two, three] = (await start(3)) as [Program, Program, Program]
  const session = await RawSession.begin(one.url, { capabilities })
  const call = await session.call('update_work_item', item)
  const resolution = await call.next()
  await one.kill()

  session.url = two.url
  await session.answer(resolution, accept({ resolution: 'Duplicate' }), { state: resolution.state })
  const second = await session.listen(call.lastEventId)
  const duplicateOf = await second.next()
  await two.kill()

  session.url = three.url
  await session.answer(duplicateOf, accept({ duplicateOfId: 4301 }), { state: duplicateOf.state })
  const third = await session.listen(second.lastEventId)
  expect(await third.rest()).toMatchObject([DONE])
})

test('a call that asks nothing is told to be lost when its process is killed, also to a client that echoes states', async () => {
  const [one, two] = (await start(2)) as [Program, Program]
  const session = await RawSession.begin(one.url, { capabilities })
  const call = await session.open('tools/call', { name: 'count', arguments: {}, _meta: { progressToken: 1 } })
  await call.next()
  await one.kill()
  await expect(call.rest()).rejects.toThrow()
  session.url = two.url
  expect(await (await session.listen(call.lastEventId)).rest()).toMatchObject([LOST])
})

test('a call is told to be lost when its process is killed after it has taken the answer', async () => {
  const [one, two] = (await start(2)) as [Program, Program]
  const session = await RawSession.begin(one.url, { capabilities })
  const call = await session.call('ask_and_hold')
  const question = await call.next()
  const asked = call.lastEventId
  const broken = call.next().then(String, () => 'broken')
  await session.answer(question, accept({ name: 'Ann' }), { state: question.state })
  await expect.poll(() => call.lastEventId).not.toBe(asked)
  await one.kill()
  expect(await broken).toBe('broken')
  session.url = two.url
  expect(await (await session.listen(call.lastEventId)).rest()).toMatchObject([LOST])
})
