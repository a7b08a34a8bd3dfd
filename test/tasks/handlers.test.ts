/** Handlers that give, throw or ask what nobody expects: each comes to an end, is run once, and leaves a trace. */
import { inputRequired, type Server } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { listening, storePath, taskServer } from './fixtures/echoServer.ts'
import { accept, TaskCaller } from '../fixtures/modernClient.ts'

type Handler = () => unknown

const bareForm = { method: 'elicitation/create', params: { message: 'Well?' } }

function throwing(thrown: unknown): Handler {
  return () => {
    throw thrown
  }
}

const unlookable = new Proxy({}, { getPrototypeOf: throwing(new Error('It was looked at.')) as () => null })

const failing: readonly [does: string, handler: Handler, message: RegExp][] = [
  ['returns what is no object as JSON', () => ({ content: [], toJSON: () => 5 }), /not an object/],
  ['returns something very long', () => 'x'.repeat(5_000_000), /limit is 4194304/],
  ['asks a bigint', () => inputRequired({ inputRequests: { a: { ...bareForm, n: 1n } as never } }), /not plain JSON/],
  ['remembers a bigint', () => inputRequired({ requestState: 1n }), /not plain JSON/],
  ['throws what throws when it is looked at', throwing(unlookable), /Internal error/],
]

/** A server with a tool for each handler, its log, and which tools have run. */
function oddServer(handlers: readonly Handler[]): { server: Server; said: unknown[]; ran: number[] } {
  const said: unknown[] = []
  const ran: number[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (details: unknown) => void said.push(details) }
  const server = taskServer({ logger })
  handlers.forEach((handler, number) => {
    server.tool(`odd${number}`, { description: 'Does something odd.', task: 'required' }, () => {
      ran.push(number)
      return handler() as string
    })
  })
  return { server, said, ran }
}

describe('a task whose handler', () => {
  test('gives what cannot be kept or looked at fails, is not run again, and leaves a trace', async () => {
    const { server, said, ran } = oddServer(failing.map(([, handler]) => handler))
    const client = new TaskCaller(await listening(server))
    for (const [number, [does, , message]] of failing.entries()) {
      const task = await client.until(await client.create(`odd${number}`))
      expect(task, does).toMatchObject({ status: 'failed', error: { code: -32603 } })
      expect(task.error.message, does).toMatch(message)
      expect([ran, said.length], does).toEqual([Array.from({ length: number + 1 }, (_, at) => at), number + 1])
    }
  })

  test('throws what is no error has failed as a tool, and the log names the task', async () => {
    const thrown = [undefined, null, 'out of paper', 5n]
    const { server, said } = oddServer(thrown.map(throwing))
    const client = new TaskCaller(await listening(server))
    for (const number of thrown.keys()) {
      const taskId = await client.create(`odd${number}`)
      expect(await client.until(taskId)).toMatchObject({ status: 'completed', result: { isError: true } })
      expect(said.at(-1)).toMatchObject({ task: taskId, tool: `odd${number}` })
    }
  })

  test('asks without a form can be answered', async () => {
    const server = taskServer()
    server.tool('odd', { description: 'Asks.', task: 'required' }, (_, ctx) => {
      if ('a' in ctx.inputResponses) return 'answered'
      return inputRequired({ inputRequests: { a: bareForm as never } })
    })
    const client = new TaskCaller(await listening(server))
    const taskId = await client.create('odd')
    await client.until(taskId, 'input_required')
    await client.update(taskId, { a: accept({}) })
    expect(await client.until(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'answered' }] } })
  })
})

test('a task whose arguments cannot be checked any more fails', async () => {
  const path = storePath()
  const input = z.object({ n: z.number() })
  const front = taskServer({ tasks: sqliteTasks({ path, concurrency: 0 }) })
  front.tool('odd', { description: 'Counts.', task: 'required', input }, () => 'never')
  const client = new TaskCaller(await listening(front))
  const taskId = await client.create('odd', { n: 1 })
  const worker = taskServer({ tasks: sqliteTasks({ path }) })
  const broken = input.refine(() => {
    throw new Error('the check is broken')
  })
  worker.tool('odd', { description: 'Counts.', task: 'required', input: broken }, () => 'never')
  await listening(worker)
  expect(await client.until(taskId)).toMatchObject({ status: 'failed', error: { code: -32603 } })
})

test('a client that gives wrong answers for ever is not asked for ever', async () => {
  const server = taskServer()
  server.tool('ask', { description: 'Asks.', task: 'required' }, async (_, ctx) => {
    await ctx.ask('sure', { message: 'Sure?', schema: z.object({ yes: z.boolean() }) })
    return 'done'
  })
  const client = new TaskCaller(await listening(server))
  const taskId = await client.create('ask')
  const keys = new Set<string>()
  let task = await client.until(taskId)
  for (let turn = 0; turn < 50 && task.status === 'input_required'; turn++) {
    const [key = ''] = Object.keys(task.inputRequests)
    expect(keys.has(key)).toBe(false)
    keys.add(key)
    await client.update(taskId, { [key]: { action: 'nonsense' } })
    task = await client.until(taskId)
  }
  expect(task).toMatchObject({ status: 'completed', result: { isError: true } })
  expect(keys.size).toBe(5)
})

test.each([
  ['text', () => ['sure', `Sure ${Math.random()}?`]],
  ['key', () => [`sure${Math.random()}`, 'Sure?']],
] as const)('a task whose question has another %s in each run is told, and not asked for ever', async (_, made) => {
  const warned: unknown[] = []
  const logger = { debug() {}, info() {}, error() {}, warn: (details: unknown) => void warned.push(details) }
  const server = taskServer({ logger })
  server.tool('ask', { description: 'Asks.', task: 'required' }, async (_, ctx) => {
    const [key = '', message = ''] = made()
    await ctx.ask(key, { message, schema: z.object({ yes: z.boolean() }) })
    return 'done'
  })
  const client = new TaskCaller(await listening(server))
  const taskId = await client.create('ask')
  let task = await client.until(taskId)
  let asked = 0
  for (; asked < 50 && task.status === 'input_required'; asked++) {
    const [key = ''] = Object.keys(task.inputRequests)
    await client.update(taskId, { [key]: accept({ yes: true }) })
    task = await client.until(taskId)
  }
  expect(asked).toBe(5)
  expect(JSON.stringify(task)).toContain('ctx.step')
  expect(warned.filter((details) => Object.hasOwn(details as object, 'key'))).toMatchObject([{ name: 'ask' }])
})
