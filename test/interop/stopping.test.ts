/** An instance that is stopped is not missed: nobody who waits elsewhere is asked again. */
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { startProgram } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'

const ann = { action: 'accept', content: { name: 'Ann' } }

/** Two instances that know each other, with a session that has begun at the first and a call that waits at the second. */
async function twoInstances() {
  const [first, second] = await Promise.all([startProgram(), startProgram()])
  onTestFinished(async () => void (await Promise.all([first.kill(), second.kill()])))
  const session = await RawSession.begin(first.url, { capabilities: { elicitation: {} } })
  session.url = second.url // the session id tells it of the other
  const answered = await session.call('greet')
  const kept = await session.call('greet')
  session.url = first.url // which forwards the answer, so that both know each other
  await session.answer(await answered.next(), ann)
  await answered.rest()
  return { first, second, session, kept }
}

test('questions of other instances stay as they are while one is stopped', async () => {
  const [{ first: stopped, second: staying, session, kept }, others] = await Promise.all([
    twoInstances(),
    twoInstances(),
  ])
  const moved = await session.call('greet')
  const questions = [await kept.next(), await moved.next()]
  await others.kept.next()
  stopped.child.kill('SIGTERM')
  await once(stopped.child, 'exit')
  session.url = staying.url
  const resumed = await session.listen(moved.lastEventId)
  // One that is killed is missed, later than the stopped one would have been.
  await others.first.kill()
  expect(await others.kept.next()).toMatchObject({ method: 'notifications/cancelled' })
  expect(await others.kept.next()).toMatchObject({ method: 'elicitation/create' })
  for (const question of questions) await session.answer(question, ann)
  const greeting = { result: { content: [{ text: 'Hello Ann' }] } }
  expect(await kept.rest()).toMatchObject([greeting])
  expect(await resumed.rest()).toMatchObject([greeting])
})
