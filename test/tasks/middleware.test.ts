/** Middlewares around tasks: when one is made, and around each of its runs. */
import { type CallResult, failure, type HandlerCall, ProtocolError, text } from 'pannier/server'
import { expect, test } from 'vitest'
import { accept, TaskCaller } from '../fixtures/modernClient.ts'
import { listening, offerEcho, taskServer } from './fixtures/echoServer.ts'

test('a middleware runs when a task is made, and around each of its runs', async () => {
  const rounds: { task: string | undefined; ended: string; id: string }[] = []
  const server = offerEcho(taskServer()).use(async (call: HandlerCall, next: () => Promise<CallResult>) => {
    const result = await next()
    rounds.push({ task: call.task, id: call.id, ended: result.resultType ?? 'complete' })
    return result.resultType === undefined ? text('replaced') : result
  })
  const client = new TaskCaller(await listening(server))
  const task = await client.create('echo')
  await client.until(task)
  await client.update(task, { echo_input: accept({ input: 'hi' }) })
  expect(await client.until(task)).toMatchObject({ status: 'completed', result: { content: [{ text: 'replaced' }] } })
  expect(rounds).toMatchObject([{ task: undefined, ended: 'task' }, { task }, { task, ended: 'complete' }])
  expect(rounds[1]?.ended).toBe('input_required')
  expect(new Set(rounds.map(({ id }) => id)).size).toBe(1)
})

test('a middleware may refuse a task before it is made, or end it', async () => {
  const server = offerEcho(taskServer()).use((call, next) => {
    if (call.args['refuse'] === true) throw new ProtocolError('PARAMS_INVALID', 'Not today.')
    return call.task === undefined ? next() : failure('Too late.')
  })
  const client = new TaskCaller(await listening(server))
  expect(await client.call('echo', { refuse: true })).toEqual({ code: -32602, message: 'Not today.' })
  const ended = await client.until(await client.create('echo'))
  expect(ended).toMatchObject({ status: 'completed', result: { isError: true, content: [{ text: 'Too late.' }] } })
})
