/** A call that asks first and becomes a task then (MRTR-38), and that there is no way back (MRTR-39). */
import type { Server } from 'pannier/server'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { proves } from '../proves.ts'
import { listening, offerEcho, storePath, taskServer } from './fixtures/echoServer.ts'
import { accept, TaskCaller } from '../fixtures/modernClient.ts'
import { sqliteTasks } from 'pannier/tasks'
import { newKey } from 'pannier/state'

const nameForm = { message: 'Your name?', schema: z.object({ name: z.string() }) }
const sureForm = { message: 'Sure?', schema: z.object({ yes: z.boolean() }) }

interface Work {
  readonly server: Server
  /** What the handler did, in order. */
  readonly did: string[]
}

function offer(server: Server): Work {
  const did: string[] = []
  server.tool(
    'build',
    { description: 'Asks, then builds alone.', task: 'optional', startsAs: 'call' },
    async (_, ctx) => {
      const { name } = await ctx.ask('name', nameForm)
      const prepared = await ctx.step('prepare', () => {
        did.push('prepare')
        return `prepared for ${name}`
      })
      const task = await ctx.detach()
      expectTypeOf(task).not.toHaveProperty('detach')
      const built = await task.step('build', () => {
        did.push('build')
        return 'built'
      })
      const { yes } = await task.ask('sure', sureForm)
      return `${prepared}, ${built}, ${yes}`
    },
  )
  return { server, did }
}

/** The first rounds; gives the last request, ready to be sent. */
async function answered(client: TaskCaller): Promise<Record<string, unknown>> {
  const first = await client.call('build')
  expect(first).toMatchObject({ resultType: 'input_required' })
  expect(first).not.toHaveProperty('taskId')
  return { inputResponses: { name: accept({ name: 'Ann' }) }, requestState: first.requestState }
}

test.each([5, 'text', ['list'], null])(
  'answers of the wrong kind, %j, are refused with a call that becomes a task, and no task is made',
  async (inputResponses) => {
    const server = offerEcho(taskServer())
    const client = new TaskCaller(await listening(server))
    const { message } = await client.send('tools/call', { name: 'echo', arguments: {}, inputResponses })
    expect(message.error).toEqual({ code: -32602, message: '"inputResponses" must be an object.' })
  },
)

describe('detach', () => {
  proves('MRTR-38', 'turns a call into a task, and what it gathered goes with it', async () => {
    const { server, did } = offer(taskServer())
    const client = new TaskCaller(await listening(server))
    const task = await client.call('build', {}, await answered(client))
    expect(task).toMatchObject({ resultType: 'task', status: 'working' })
    expect(Object.keys(task)).not.toEqual(expect.arrayContaining(['requestState', 'inputRequests']))
    await client.until(task.taskId, 'input_required')
    await client.update(task.taskId, { sure: accept({ yes: true }) })
    const done = await client.until(task.taskId, 'completed')
    expect(done.result.content[0].text).toBe('prepared for Ann, built, true')
    expect(did).toEqual(['prepare', 'build'])
  })

  proves('MRTR-38', 'gives the same task when its round is sent again', async () => {
    const { server, did } = offer(taskServer())
    const client = new TaskCaller(await listening(server))
    const round = await answered(client)
    const tasks = await Promise.all([client.call('build', {}, round), client.call('build', {}, round)])
    expect(tasks[0].taskId).toBe(tasks[1].taskId)
    await client.until(tasks[0].taskId, 'input_required')
    expect(did.filter((step) => step === 'build')).toHaveLength(1)
  })

  proves('MRTR-39', 'is for good: a task asks by its own methods alone', async () => {
    const { server } = offer(taskServer())
    const client = new TaskCaller(await listening(server))
    const round = await answered(client)
    const task = await client.call('build', {}, round)
    await client.until(task.taskId, 'input_required')
    // The call itself gives the task again, although what the task asks is answered to it; never a round.
    const inputResponses = { ...(round['inputResponses'] as object), sure: accept({ yes: true }) }
    const retry = await client.call('build', {}, { ...round, inputResponses })
    expect(retry).toMatchObject({ resultType: 'task', taskId: task.taskId })
    expect(retry).not.toHaveProperty('inputRequests')
    const asking = await client.get(task.taskId)
    expect(asking).toMatchObject({ status: 'input_required', resultType: 'complete', inputRequests: { sure: {} } })
    expect(asking).not.toHaveProperty('requestState')
    expect(await client.update(task.taskId, { sure: accept({ yes: true }) })).not.toHaveProperty('requestState')
    expect(await client.until(task.taskId, 'completed')).toMatchObject({ resultType: 'complete' })
  })

  test('does nothing for a client that takes no tasks: the call goes on', async () => {
    const { server, did } = offer(taskServer())
    const client = new TaskCaller(await listening(server), { capabilities: { elicitation: {} } })
    const second = await client.call('build', {}, await answered(client))
    expect(second).toMatchObject({ resultType: 'input_required', inputRequests: { sure: {} } })
    const inputResponses = { sure: accept({ yes: false }) }
    const done = await client.call('build', {}, { inputResponses, requestState: second.requestState })
    expect(done.content[0].text).toBe('prepared for Ann, built, false')
    expect(did).toEqual(['prepare', 'build'])
  })

  proves('MRTR-38', 'works where the rounds and the task are served by different instances', async () => {
    const path = storePath()
    const keys = newKey()
    const one = offer(taskServer({ keys, tasks: sqliteTasks({ path, concurrency: 0 }) }))
    const two = offer(taskServer({ keys, tasks: sqliteTasks({ path }) }))
    const [first, second] = [await listening(one.server), await listening(two.server)]
    const client = new TaskCaller(first)
    const round = await answered(client)
    const { taskId } = await client.call('build', {}, round)
    client.url = second
    await client.until(taskId, 'input_required')
    client.url = first
    await client.update(taskId, { sure: accept({ yes: true }) })
    await client.until(taskId, 'completed')
    expect([one.did, two.did]).toEqual([['prepare'], ['build']])
  })
})

describe('a tool', () => {
  test('that says how it starts must say that it may be a task', () => {
    const server = taskServer()
    expect(() => server.tool('x', { description: 'x', startsAs: 'call' }, () => 'x')).toThrow("task: 'optional'")
  })

  test.each([
    [{ task: true }, `The option task of the tool "x" is 'optional' or 'required'.`],
    [{ task: 'optional', startsAs: 'now' }, `The option startsAs of the tool "x" is 'call' or 'task'.`],
  ])('with the options %o is refused', (options, sentence) => {
    const untyped = { description: 'x', ...options } as { description: string }
    expect(() => taskServer().tool('x', untyped, () => 'x')).toThrow(sentence)
  })
})
