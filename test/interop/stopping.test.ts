/** An instance that is stopped is not missed: nobody who waits elsewhere is asked again. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startProgram } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'

const ann = { action: 'accept', content: { name: 'Ann' } }

test('questions of other instances stay as they are while one is stopped', async () => {
  const [stopped, staying] = await Promise.all([startProgram(), startProgram()])
  const session = await RawSession.begin(stopped.url, { capabilities: { elicitation: {} } })
  session.url = staying.url // the session id tells it of the other
  const first = await session.call('greet')
  const kept = await session.call('greet')
  session.url = stopped.url // which forwards the answer, so that both know each other
  await session.answer(await first.next(), ann)
  await first.rest()
  const moved = await session.call('greet')
  const questions = [await kept.next(), await moved.next()]
  stopped.child.kill('SIGTERM')
  await once(stopped.child, 'exit')
  session.url = staying.url
  const resumed = await session.listen(moved.lastEventId)
  await sleep(1000) // whoever is missed is missed within that
  for (const question of questions) await session.answer(question, ann)
  const greeting = { result: { content: [{ text: 'Hello Ann' }] } }
  expect(await kept.rest()).toMatchObject([greeting])
  expect(await resumed.rest()).toMatchObject([greeting])
  await staying.kill()
})
