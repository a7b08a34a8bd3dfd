/** Who may make a task and answer it: whoever may call its tool. */
import type { Principal } from 'pannier/server'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { accept, TaskCaller } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { listening, taskServer } from './fixtures/echoServer.ts'

const name = { message: 'Your name?', schema: z.object({ name: z.string() }) }

/** A server whose callers are all Ann, with the scopes they say. */
function serve(): Promise<string> {
  const principal = ({ header }: { header(name: string): string | undefined }): Principal => ({
    id: 'ann',
    scopes: [header('x-scope') ?? ''],
  })
  const options = { description: 'Greets.', task: 'required', scopes: ['greet'] } as const
  const server = taskServer({ principal }).tool('greet', options, async (_, ctx) => {
    return `Hello ${(await ctx.ask('name', name)).name}`
  })
  return listening(server)
}

const UNKNOWN = { code: -32602, message: 'There is no tool "greet".' }
const answers = { name: accept({ name: 'Ann' }) }

describe('a task of a tool that needs a scope', () => {
  test('is made and answered by whoever has it; without it one may only look and cancel', async () => {
    const url = await serve()
    const allowed = new TaskCaller(url, { headers: { 'x-scope': 'greet' } })
    const demoted = new TaskCaller(url)
    expect(await demoted.call('greet')).toEqual(UNKNOWN)
    const task = await allowed.create('greet')
    expect(await demoted.until(task)).toMatchObject({ status: 'input_required' })
    expect(await demoted.update(task, answers)).toEqual(UNKNOWN)
    await allowed.update(task, answers)
    expect(await demoted.until(task, 'completed')).toMatchObject({ result: { content: [{ text: 'Hello Ann' }] } })
    expect(await demoted.cancel(await allowed.create('greet'))).not.toHaveProperty('code')
  })

  test('pushes no question to a session without it', async () => {
    const url = await serve()
    const begin = (scope: string) =>
      RawSession.begin(url, { capabilities: { elicitation: {} }, headers: { 'x-scope': scope } })
    const [allowed, demoted] = [await begin('greet'), await begin('none')]
    const { result } = await allowed.request('tools/call', { name: 'greet', arguments: {}, task: {} })
    const { taskId } = (result as { task: { taskId: string } }).task
    expect((await demoted.request('tasks/result', { taskId })).error).toEqual(UNKNOWN)
    const stream = await allowed.open('tasks/result', { taskId })
    await allowed.answer(await stream.next(), answers.name)
    expect(await stream.next()).toMatchObject({ result: { content: [{ text: 'Hello Ann' }] } })
  })
})
