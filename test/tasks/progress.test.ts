/** How far a task is, as its handler says it: in both dialects, and for whoever follows the task. */
import { connect, getTask } from 'pannier/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { accept, TaskCaller } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { listening } from './fixtures/echoServer.ts'
import { ENGINES, type EngineName, serverOver } from './fixtures/engines.ts'

const META = 'dev.pannier/progress'

async function serve(engine: EngineName): Promise<string> {
  const server = await serverOver(engine)
  server.tool('walk', { description: 'Walks.', task: 'required' }, async (_, ctx) => {
    ctx.progress(2.5, 10, 'A quarter')
    await ctx.ask('on', { message: 'On?', schema: z.object({ yes: z.boolean() }) })
    return 'there'
  })
  return listening(server)
}

describe.each(ENGINES)('over %s, the numbers of ctx.progress', (engine) => {
  test('are in tasks/get of both dialects until the task has ended, and in getTask', async () => {
    const url = await serve(engine)
    const caller = new TaskCaller(url)
    const task = await caller.create('walk')
    const asking = await caller.until(task, 'input_required')
    expect(asking._meta[META]).toEqual({ progress: 2.5, total: 10 })
    const session = await RawSession.begin(url)
    const { result } = await session.request('tasks/get', { taskId: task })
    expect(result).toMatchObject({ _meta: { [META]: { progress: 2.5, total: 10 } } })
    const client = await connect(url)
    onTestFinished(() => client.close())
    expect(await getTask(client, task)).toMatchObject({ progress: { progress: 2.5, total: 10 } })
    await caller.update(task, { on: accept({ yes: true }) })
    const done = await caller.until(task, 'completed')
    expect(done._meta).not.toHaveProperty([META])
  })

  test('reach the caller who waits for the result as progress with a total', async () => {
    const url = await serve(engine)
    const client = await connect(url, { answerers: { form: () => ({ action: 'accept', content: { yes: true } }) } })
    onTestFinished(() => client.close())
    const seen: { progress: number; total?: number | undefined }[] = []
    const onprogress = (told: { progress: number; total?: number | undefined }) => void seen.push(told)
    await client.callTool({ name: 'walk', arguments: {} }, { onprogress })
    expect(seen).toContainEqual(expect.objectContaining({ progress: 2.5, total: 10 }))
    expect(seen.map(({ progress }) => progress)).toEqual(seen.map(({ progress }) => progress).toSorted((a, b) => a - b))
  })
})
