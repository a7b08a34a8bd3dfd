/** A server that dies while its task is followed: the task goes on in the next process, and its caller is answered. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Task } from 'pannier/client'
import { expect, onTestFinished, test } from 'vitest'
import type { Loose } from '../fixtures/fakeTransport.ts'
import { startServer } from '../fixtures/servers/start.ts'
import { accept, text } from '../fixtures/clients.ts'

test('a call is answered although its server was killed and started again in the middle', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-tasks-restart-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const env = { TASKS: join(folder, 'tasks.db') }
  const first = await startServer('taskServer', env)
  onTestFinished(() => first.close())

  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<Loose>()
  const form = () => (asked.resolve(), answer.promise)
  const statuses: Task['status'][] = []
  const tasks = { onStatus: ({ status }: Task) => void statuses.push(status) }
  const client = await connect(first.url, { answerers: { form }, jar: false, tasks })
  onTestFinished(() => client.close())
  const call = client.callTool({ name: 'greet', arguments: {} })
  await asked.promise

  first.close()
  answer.resolve(accept({ name: 'Ann' }))
  const second = await startServer('taskServer', { ...env, PORT: new URL(first.url).port })
  onTestFinished(() => second.close())
  expect(await call).toMatchObject(text('Dear Ann'))
  expect(statuses.at(-1)).toBe('completed')
})
