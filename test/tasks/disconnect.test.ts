/** A client that goes away while its task is being made, or while it waits for the result. */
import { sqliteEngine, createTasks } from 'pannier/tasks'
import { expect, test } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { open, TAKES_TASKS } from '../fixtures/modernClient.ts'
import { post, RawSession } from '../interop/fixtures/rawSession.ts'
import { listening, offerEcho, storePath, taskServer } from './fixtures/echoServer.ts'

test('a call that is given up before its client knows of the task leaves nothing running', async () => {
  const begun = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const made = Promise.withResolvers<string>()
  const engine = sqliteEngine({ path: storePath() })
  const tasks = createTasks({
    ...engine,
    create: async (task) => {
      begun.resolve()
      await gone.promise
      const created = await engine.create(task)
      made.resolve(created.id)
      return created
    },
  })
  const server = taskServer({ tasks })
  server.tool('hangs', { description: 'Ends when told.', task: 'required' }, async (_, ctx) => {
    if (!ctx.signal.aborted) await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    return 'told'
  })
  const handle = server.nodeHandler()
  const http = await hostUntil((request, response) => {
    handle(request, response)
    // Registered after the server's own, so that it knows by then.
    response.once('close', gone.resolve)
  })

  const abort = new AbortController()
  const url = http.url
  const params = { name: 'hangs', arguments: {} }
  const answer = open(url, { params, capabilities: TAKES_TASKS, signal: abort.signal })
  await begun.promise
  abort.abort()
  await expect(answer).rejects.toThrow()
  const id = await made.promise
  await expect.poll(async () => (await engine.read(id, ''))?.status).toBe('cancelled')
})

test('nobody waits for a result that cannot be delivered, in a session or outside', async () => {
  const server = offerEcho(taskServer())
  const url = await listening(server)
  const session = await RawSession.begin(url)
  const { result } = await session.request('tools/call', { name: 'echo', arguments: {}, task: {} })
  const { taskId } = (result as { task: { taskId: string } }).task
  const message = { jsonrpc: '2.0', id: 9, method: 'tasks/result', params: { taskId } }
  for (const headers of [session.headers, {}]) {
    const abort = new AbortController()
    const answer = post(url, headers, message, abort.signal)
    await expect.poll(() => server.inFlight).toBe(1)
    abort.abort()
    await expect(answer).rejects.toThrow()
    await expect.poll(() => server.inFlight).toBe(0)
  }
  expect((await session.request('tasks/get', { taskId })).result).toMatchObject({ status: 'input_required' })
})
