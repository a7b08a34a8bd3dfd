/** A call outlives the process that began it. Real processes, one key ring, and SIGKILL. */
import { afterEach, expect } from 'vitest'
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
