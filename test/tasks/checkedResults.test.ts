/** The result of a task is checked as that of a call is: what a client gets of a tool does not depend on how it runs. */
import { structured, type Server } from 'pannier/server'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { post, TaskCaller, type Wire } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { listening, taskServer } from './fixtures/echoServer.ts'

const MAX = 5000
const described = { description: 'Gives something.', task: 'optional' } as const

function circle(): object {
  const value: Record<string, unknown> = {}
  value['self'] = value
  return value
}

function nested(depth: number): object {
  let value = {}
  for (let level = 0; level < depth; level++) value = { value }
  return value
}

const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
const bare = (value: unknown) => ({ content: [], structuredContent: value }) as never

function offer(server: Server): Server {
  server.tool('fits', described, () => 'x'.repeat(MAX - 300))
  server.tool('large', described, () => 'x'.repeat(MAX + 1000))
  server.tool('unfit', { ...described, output: z.object({ n: z.number() }) }, () => bare({ n: 'no number' }))
  server.tool('unstructured', { ...described, output: z.object({ n: z.number() }) }, () => 'only text' as never)
  server.tool('nothing', described, () => undefined as never)
  server.tool('odd', described, () => ({ content: [{ type: 'smell' }] }) as never)
  server.tool('bigint', described, () => bare({ n: 1n }))
  server.tool('circle', described, () => bare(circle()))
  server.tool('deep', described, () => bare(nested(100_000)))
  server.tool('good', { ...described, output: z.object({ n: z.number() }) }, () => structured({ n: 1 }))
  return server
}

const TOOLS = ['fits', 'large', 'unfit', 'unstructured', 'nothing', 'odd', 'bigint', 'circle', 'deep', 'good']

/** Without what all results of the era have, and without the task that a result belongs to. */
function ownOf(result: Wire): Wire {
  return { ...result, _meta: undefined, resultType: undefined }
}

async function serve() {
  const said: Wire[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (details: Wire) => void said.push(details) }
  return { url: await listening(offer(taskServer({ maxResultBytes: MAX, logger }))), said }
}

describe.each(['2026-07-28', '2025-11-25'])('in revision %s', (revision) => {
  async function bothWays(url: string, name: string): Promise<{ called: Wire; asTask: Wire }> {
    if (revision === '2026-07-28') {
      const { message } = await post(url, { method: 'tools/call', params: { name, arguments: {} } })
      const client = new TaskCaller(url)
      const task = await client.until(await client.create(name))
      return { called: message.result, asTask: task.result }
    }
    const session = await RawSession.begin(url)
    const request = async (method: string, params: object): Promise<Wire> =>
      (await session.request(method, params)).result as Wire
    const { task } = await request('tools/call', { name, arguments: {}, task: {} })
    const asTask = await request('tasks/result', { taskId: task.taskId })
    return { called: await request('tools/call', { name, arguments: {} }), asTask }
  }

  test.each(TOOLS)('a task of the tool "%s" has the result that its call has', async (name) => {
    const { url, said } = await serve()
    const { called, asTask } = await bothWays(url, name)
    expect(ownOf(asTask)).toEqual(ownOf(called))
    expect(asTask.isError === true).toBe(name !== 'fits' && name !== 'good')
    expect(said.map(({ tool }) => tool)).toEqual(asTask.isError === true ? [name, name] : [])
    expect(said[1]?.err.message).toBe(said[0]?.err.message)
  })
})

test('a result that is too large for a client says so in a task, too', async () => {
  const { url } = await serve()
  const client = new TaskCaller(url)
  const task = await client.until(await client.create('large'))
  expect(task.status).toBe('completed')
  const sentence = `The result is larger than ${MAX} bytes. Return less of it, page by page or as a resource, or raise maxResultBytes.`
  expect(task.result).toMatchObject({ ...text(sentence), isError: true })
})
