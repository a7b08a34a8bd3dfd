/** Tasks of the revision 2025-11-25 on two instances: an answer may reach the one that did not ask. */
import { newKey, sqliteCarryStore, sqliteLedger } from 'pannier/state'
import { sqliteTasks } from 'pannier/tasks'
import { expect, onTestFinished, test } from 'vitest'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { listening, offerEcho, storePath, taskServer } from './fixtures/echoServer.ts'

async function twoInstances(): Promise<[string, string]> {
  const [path, file, keys] = [storePath(), storePath(), newKey()]
  const instance = (): Promise<string> => {
    const store = sqliteCarryStore({ path: file })
    const ledger = sqliteLedger({ path: file })
    onTestFinished(() => {
      store.close()
      ledger.close()
    })
    return listening(offerEcho(taskServer({ keys, store, ledger, tasks: sqliteTasks({ path, pollMs: 50 }) })))
  }
  return [await instance(), await instance()]
}

test('an answer to the instance that did not ask reaches the task, and the result comes where it was asked for', async () => {
  const [first, second] = await twoInstances()
  const session = await RawSession.begin(first, { capabilities: { elicitation: {} } })
  const created = await session.request('tools/call', { name: 'echo', arguments: {}, task: { ttl: 60_000 } })
  const { taskId } = created.result!['task'] as { taskId: string }
  const waiting = await session.open('tasks/result', { taskId })
  const question = await waiting.next()
  expect(question.method).toBe('elicitation/create')
  session.url = second
  await session.answer(question, { action: 'accept', content: { input: 'to the other' } })
  const answers = await waiting.rest()
  expect(answers.at(-1)?.result).toMatchObject({ content: [{ text: 'Echo: to the other' }] })
})
