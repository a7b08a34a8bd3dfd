/** The tasks extension of 2026-07-28 on the wire. */
import { StatementSync } from 'node:sqlite'
import type { Server } from 'pannier/server'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { proves } from '../proves.ts'
import { accept, eventsOf, open, TAKES_TASKS, TaskCaller, TASKS, type Wire } from '../fixtures/modernClient.ts'
import { listening, offerEcho, type TaskServerOptions, taskServer } from './fixtures/echoServer.ts'

const yes = { message: 'Sure?', schema: z.object({ yes: z.boolean() }) }

function kitchen(options: TaskServerOptions = {}): Server {
  const server = offerEcho(taskServer(options))
  server.tool('required', { description: 'Only a task.', task: 'required' }, () => 'done')
  server.tool('plain', { description: 'Never a task.' }, () => 'done')
  server.tool('two', { description: 'Asks two things.', task: 'optional' }, async (_, ctx) => {
    const { first, second } = await ctx.ask({ first: yes, second: yes })
    return `${first.yes} ${second.yes}`
  })
  server.tool('hangs', { description: 'Ends when told.', task: 'optional' }, async (_, ctx) => {
    ctx.progress(1, 2, 'half of it')
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
    return 'told'
  })
  server.tool('fails', { description: 'Throws.', task: 'optional' }, () => {
    throw new Error('out of paper')
  })
  return server
}

function gate(): PromiseWithResolvers<void> {
  return Promise.withResolvers()
}

async function caller(options: TaskServerOptions = {}): Promise<TaskCaller> {
  return new TaskCaller(await listening(kitchen(options)))
}

describe('a call', () => {
  test('becomes a task for a client that takes tasks', async () => {
    const client = await caller()
    const task = await client.call('echo')
    expect(task).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null, pollIntervalMs: 100 })
    expect(task.taskId).toMatch(/^echo_[0-9a-f-]{36}$/)
    expect(Date.parse(task.createdAt)).toBeCloseTo(Date.now(), -4)
    expect(task).not.toHaveProperty('requestState')
  })

  test('stays a call for one that does not, and asks as a call', async () => {
    const client = new TaskCaller((await caller()).url, { capabilities: { elicitation: {} } })
    expect(await client.call('echo')).toMatchObject({ resultType: 'input_required' })
  })

  test('is refused with what is missing where the tool is only a task', async () => {
    const client = new TaskCaller((await caller()).url, { capabilities: {} })
    const { status, message } = await client.send('tools/call', { name: 'required' })
    expect([status, message.error.code]).toEqual([400, -32021])
    expect(message.error.data.requiredCapabilities).toEqual({ extensions: { [TASKS]: {} } })
  })

  test('of another tool is never a task, whatever the client takes or asks for', async () => {
    const client = await caller()
    expect(await client.call('plain', {}, { task: { ttl: 60_000 } })).toMatchObject({ resultType: 'complete' })
  })
})

describe('tasks/get', () => {
  test('has the questions, and after the answers the result', async () => {
    const client = await caller()
    const taskId = await client.create('echo')
    const asking = await client.until(taskId, 'input_required')
    expect(asking).toMatchObject({ resultType: 'complete', taskId })
    expect(Object.keys(asking.inputRequests)).toEqual(['echo_input'])
    expect(await client.update(taskId, { echo_input: accept({ input: 'hello' }) })).toMatchObject({
      resultType: 'complete',
    })
    const done = await client.until(taskId, 'completed')
    expect(done.result).toMatchObject({ content: [{ type: 'text', text: 'Echo: hello' }] })
    expect(done).not.toHaveProperty('inputRequests')
  })

  test('tells how far a handler says it is', async () => {
    const client = await caller()
    const taskId = await client.create('hangs')
    const told = { status: 'working', statusMessage: 'half of it' }
    await expect.poll(() => client.get(taskId)).toMatchObject(told)
    await client.cancel(taskId)
    expect(await client.get(taskId)).not.toHaveProperty('statusMessage')
  })

  test('does not go back to what it said before while it runs again', async () => {
    const [told, again, seen] = [gate(), gate(), gate()]
    const server = taskServer()
    let runs = 0
    server.tool('prints', { description: 'Prints two pages.', task: 'optional' }, async (_, ctx) => {
      runs++
      await ctx.step('page 1', () => {})
      ctx.progress(1, 2)
      if (runs === 2) again.resolve()
      if (runs === 2) await seen.promise
      await ctx.step('page 2', () => {})
      ctx.progress(2, 2)
      await told.promise
      await ctx.ask('sure', yes)
      return 'printed'
    })
    const client = new TaskCaller(await listening(server))
    const taskId = await client.create('prints')
    await expect.poll(() => client.get(taskId)).toHaveProperty('statusMessage', '2 of 2')
    told.resolve()
    await client.until(taskId, 'input_required')
    await client.update(taskId, { sure: accept({ yes: true }) })
    await again.promise
    expect(await client.get(taskId)).toMatchObject({ status: 'working', statusMessage: '2 of 2' })
    seen.resolve()
    await client.until(taskId, 'completed')
  })

  test('has a tool that failed as a result, and not as a failed task', async () => {
    const client = await caller()
    const done = await client.until(await client.create('fails'))
    expect(done).toMatchObject({ status: 'completed', result: { isError: true } })
    expect(done.result.content[0].text).toContain('out of paper')
  })

  proves('MRTR-37', 'does the same work whatever the status, and for an id that is unknown', async () => {
    const client = await caller()
    const asking = await client.create('echo')
    await client.until(asking, 'input_required')
    const ended = await client.create('required')
    await client.until(ended, 'completed')
    const unknown = ended.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    const statements = vi.spyOn(StatementSync.prototype, 'all')
    const queries = async (id: string): Promise<number> => {
      const counts: number[] = []
      // The least of some rounds: the worker looks for tasks meanwhile.
      for (let round = 0; round < 5; round++) {
        statements.mockClear()
        await client.get(id)
        counts.push(statements.mock.calls.length)
      }
      return Math.min(...counts)
    }
    onTestFinished(() => statements.mockRestore())
    const work = { asking: await queries(asking), ended: await queries(ended), unknown: await queries(unknown) }
    expect(work.asking).toBeGreaterThan(0)
    expect(work).toEqual({ asking: work.asking, ended: work.asking, unknown: work.asking })
  })
})

describe('tasks/update', () => {
  test('keeps a part of the answers, and asks for the rest', async () => {
    const client = await caller()
    const taskId = await client.create('two')
    await client.until(taskId, 'input_required')
    await client.update(taskId, { first: accept({ yes: true }) })
    const still = await client.get(taskId)
    expect([still.status, Object.keys(still.inputRequests)]).toEqual(['input_required', ['second']])
    await client.update(taskId, { first: accept({ yes: false }), second: accept({ yes: false }) })
    expect((await client.until(taskId, 'completed')).result.content[0].text).toBe('true false')
  })

  proves('MRTR-44', 'what is no answer leaves the task asking, under a key that was not used', async () => {
    const client = await caller()
    const taskId = await client.create('echo')
    await client.until(taskId, 'input_required')
    await client.update(taskId, { echo_input: { action: 'accept' } })
    expect(Object.keys((await client.get(taskId)).inputRequests)).toEqual(['echo_input~2'])
    await client.update(taskId, { 'echo_input~2': accept({ input: 5 }) })
    expect(Object.keys((await client.get(taskId)).inputRequests)).toEqual(['echo_input~3'])
    await client.update(taskId, { echo_input: accept({ input: 'late' }) }) // answered before: ignored
    expect((await client.get(taskId)).status).toBe('input_required')
    await client.update(taskId, { 'echo_input~3': accept({ input: 'right' }) })
    expect((await client.until(taskId, 'completed')).result.content[0].text).toBe('Echo: right')
  })

  test.each([5, null, 'x', []])('refuses answers that are %j', async (responses) => {
    const client = await caller()
    const taskId = await client.create('echo')
    expect(await client.update(taskId, responses)).toMatchObject({ code: -32602 })
  })

  test('after the end is acknowledged and changes nothing', async () => {
    const client = await caller()
    const taskId = await client.create('required')
    const done = await client.until(taskId, 'completed')
    expect(await client.update(taskId, { x: accept({}) })).toMatchObject({ resultType: 'complete' })
    expect(await client.get(taskId)).toEqual(done)
  })
})

describe('tasks/cancel', () => {
  test('ends a task that works, and tells its handler', async () => {
    const told = Promise.withResolvers<void>()
    const server = taskServer()
    server.tool('hangs', { description: 'Ends when told.', task: 'optional' }, async (_, ctx) => {
      ctx.progress(1)
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
      told.resolve()
      return 'told'
    })
    const client = new TaskCaller(await listening(server))
    const taskId = await client.create('hangs')
    await expect.poll(() => client.get(taskId)).toHaveProperty('statusMessage')
    expect(await client.cancel(taskId)).toMatchObject({ resultType: 'complete' })
    await told.promise
    expect(await client.get(taskId)).toMatchObject({ status: 'cancelled' })
    expect(await client.cancel(taskId)).toMatchObject({ resultType: 'complete' })
  })

  test('ends a task that asks', async () => {
    const client = await caller()
    const taskId = await client.create('echo')
    await client.until(taskId, 'input_required')
    await client.cancel(taskId)
    await client.update(taskId, { echo_input: accept({ input: 'late' }) })
    expect(await client.get(taskId)).toMatchObject({ status: 'cancelled' })
  })
})

describe('what is not there', () => {
  test.each(['tasks/result', 'tasks/list', 'tasks/input_response', 'tasks/nothing'])(
    '%s is unknown',
    async (method) => {
      const client = await caller()
      const { status, message } = await client.send(method, { taskId: 'x' })
      expect([status, message.error.code]).toEqual([404, -32601])
    },
  )

  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('%s needs the declaration', async (method) => {
    const client = new TaskCaller((await caller()).url, { capabilities: {} })
    const { status, message } = await client.send(method, { taskId: 'x', inputResponses: {} })
    expect([status, message.error.code]).toEqual([400, -32021])
  })

  test.each(['nothing', '', 'x'.repeat(600), '\ud800', 5, undefined])('an id like %j is unknown', async (taskId) => {
    const client = await caller()
    const header = typeof taskId === 'string' && /^[\x20-\x7e]+$/.test(taskId) ? taskId : 'x'
    const odd = new TaskCaller(client.url, { headers: { 'mcp-name': header } })
    const { message } = await odd.send('tasks/get', { taskId })
    expect([-32602, -32020]).toContain(message.error.code)
  })

  test('a task of another is as unknown as none', async () => {
    const principal = ({ header }: { header: (name: string) => string | undefined }) => {
      const id = header('x-user')
      return id === undefined ? undefined : { id }
    }
    const url = await listening(kitchen({ principal }))
    const ann = new TaskCaller(url, { headers: { 'x-user': 'ann' } })
    const taskId = await ann.create('echo')
    await ann.until(taskId, 'input_required')
    const unknown = await ann.get('echo_00000000-0000-4000-8000-000000000000')
    for (const other of [new TaskCaller(url, { headers: { 'x-user': 'bob' } }), new TaskCaller(url)]) {
      expect(await other.get(taskId)).toEqual(unknown)
      expect(await other.update(taskId, { echo_input: accept({ input: 'x' }) })).toEqual(unknown)
      expect(await other.cancel(taskId)).toEqual(unknown)
    }
    expect(await ann.get(taskId)).toMatchObject({ status: 'input_required' })
  })
})

describe('notifications/tasks', () => {
  test('tell each change of the tasks that were named, and of no other', async () => {
    const client = await caller()
    const mine = await client.create('echo')
    const other = await client.create('two')
    const notifications = { taskIds: [mine, 'nothing'] }
    const abort = new AbortController()
    const sent = { method: 'subscriptions/listen', params: { notifications }, capabilities: TAKES_TASKS }
    const response = await open(client.url, { ...sent, signal: abort.signal })
    await client.until(mine, 'input_required')
    await client.update(mine, { echo_input: accept({ input: 'heard' }) })
    const messages: Wire[] = await readUntil(response, (message) => message.params?.status === 'completed')
    abort.abort()
    await client.cancel(other)
    expect(messages[0].params.notifications).toEqual({ taskIds: [mine] })
    const told = messages.slice(1).map(({ method, params }) => [method, params.taskId, params.status])
    expect(new Set(told.map(([method, id]) => `${method} ${id}`))).toEqual(new Set([`notifications/tasks ${mine}`]))
    expect(told.at(-1)?.[2]).toBe('completed')
    expect(messages.at(-1).params.result.content[0].text).toBe('Echo: heard')
  })

  test('need the declaration', async () => {
    const client = new TaskCaller((await caller()).url, { capabilities: {} })
    const { message } = await client.send('subscriptions/listen', { notifications: { taskIds: ['x'] } })
    expect(message.error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    })
  })
})

async function readUntil(response: Response, done: (message: Wire) => boolean): Promise<Wire[]> {
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const whole = eventsOf(text.slice(0, text.lastIndexOf('\n\n') + 2))
    if (whole.some(done)) return whole
  }
  throw new Error('The stream ended.')
}
